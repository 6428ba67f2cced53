// The menu of a right click, or of Shift+F10 and the menu key: one at a time, wherever it was asked for.

import { signal } from "@preact/signals";
import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import "./ContextMenu.css";

export interface MenuItem {
  readonly title: string;
  readonly run: () => void;
}

/** Items by group; groups without items are left out. */
export type MenuItems = readonly (readonly MenuItem[])[];

interface Open {
  /** CSS pixels in the window. */
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly groups: MenuItems;
  /** Gets the focus when the menu closes. */
  readonly back: HTMLElement | null;
}

const MARGIN = 4;
const open = signal<Open | null>(null);
let host: HTMLElement | null = null;

export function closeMenu(): void {
  const was = open.peek();
  open.value = null;
  if (was?.back?.isConnected && host?.contains(document.activeElement)) was.back.focus({ preventScroll: true });
}

/** label: what the menu is of. */
export function openMenu(x: number, y: number, label: string, groups: MenuItems): void {
  const shown = groups.filter((g) => g.length > 0);
  if (shown.length === 0) return;
  if (!host) {
    host = document.createElement("div");
    // In a landmark: what is outside of them is not found.
    (document.querySelector("main") ?? document.body).append(host);
    render(<Host />, host);
  }
  const focused = document.activeElement;
  const back = host.contains(focused) ? (open.peek()?.back ?? null) : focused;
  open.value = { x, y, label, groups: shown, back: back instanceof HTMLElement ? back : null };
}

/** Whether a key asks for the menu of what has the focus. */
export function asksForMenu(event: KeyboardEvent): boolean {
  return event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
}

function Host() {
  return open.value && <Menu key={JSON.stringify([open.value.x, open.value.y, open.value.label])} menu={open.value} />;
}

function Menu(props: { menu: Open }) {
  const { menu } = props;
  const box = useRef<HTMLDivElement>(null);
  const items = () => [...box.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
  useLayoutEffect(() => {
    const element = box.current!;
    const { width, height } = element.getBoundingClientRect();
    const x = Math.max(MARGIN, Math.min(menu.x, innerWidth - width - MARGIN));
    const y = menu.y + height > innerHeight - MARGIN ? Math.max(MARGIN, menu.y - height) : menu.y;
    element.style.transform = `translate(${x}px, ${y}px)`;
    items()[0]!.focus({ preventScroll: true });
    const onPress = (event: Event) => {
      if (event.target instanceof Node && element.contains(event.target)) return;
      open.value = null;
    };
    const onGone = () => (open.value = null);
    addEventListener("pointerdown", onPress, true);
    addEventListener("wheel", onPress, { capture: true, passive: true });
    addEventListener("resize", onGone);
    addEventListener("hashchange", onGone);
    addEventListener("blur", onGone);
    return () => {
      removeEventListener("pointerdown", onPress, true);
      removeEventListener("wheel", onPress, true);
      removeEventListener("resize", onGone);
      removeEventListener("hashchange", onGone);
      removeEventListener("blur", onGone);
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = {
      ArrowDown: (at + 1) % all.length,
      ArrowUp: (at - 1 + all.length) % all.length,
      Home: 0,
      End: all.length - 1,
    };
    if (event.key === "Escape" || event.key === "Tab") closeMenu();
    else if (to[event.key] !== undefined) all[to[event.key]!]!.focus();
    else if (/^\p{L}$/u.test(event.key)) {
      const letter = event.key.toLowerCase();
      const next = [...all.slice(at + 1), ...all.slice(0, at + 1)].find((i) => i.textContent!.toLowerCase().startsWith(letter));
      next?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div class="context-menu" ref={box} role="menu" aria-label={menu.label} onKeyDown={onKeyDown} onContextMenu={(event) => event.preventDefault()}>
      {menu.groups.map((group, g) => (
        <div key={g} role="group" class="context-group">
          {group.map((item) => (
            <button
              type="button"
              key={item.title}
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                closeMenu();
                item.run();
              }}
            >
              {item.title}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}

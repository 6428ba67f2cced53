// Common drawing state of the graph view.

import { themeColour } from "../../draw/colour";
import type { Bad } from "../../state/bad";
import type { Eye } from "./camera";
import type { Colouring } from "./colours";
import type { TokenGraph } from "./graph";
import type { PathInScene } from "./path";
import type { Item, Scene } from "./scene";

export interface Theme {
  readonly ink: string;
  readonly ink2: string;
  readonly ground: string;
  readonly ground2: string;
  readonly ground3: string;
  readonly line: string;
  readonly accent: string;
  readonly mark: string;
  readonly focus: string;
  readonly bad: string;
}

export function readTheme(): Theme {
  return {
    ink: themeColour("--ink"),
    ink2: themeColour("--ink-2"),
    ground: themeColour("--ground"),
    ground2: themeColour("--ground-2"),
    ground3: themeColour("--ground-3"),
    line: themeColour("--line"),
    accent: themeColour("--accent"),
    mark: themeColour("--mark"),
    focus: themeColour("--focus"),
    bad: themeColour("--bad"),
  };
}

export interface Look {
  readonly g: TokenGraph;
  readonly scene: Scene;
  readonly theme: Theme;
  readonly colouring: Colouring;
  /** null: not shown. */
  readonly path: PathInScene | null;
  /** Items whose outputs are not finite. */
  readonly bad: ReadonlyMap<number, Bad>;
  /** Items. */
  readonly selected: ReadonlySet<number>;
  readonly related: ReadonlySet<number>;
  /** At the film's playhead. */
  readonly now: number | null;
  readonly hits: ReadonlySet<number>;
  readonly hit: number | null;
  readonly cursor: number | null;
  readonly hoverItem: number | null;
  readonly hoverLine: number | null;
}

export interface Brush {
  readonly c: CanvasRenderingContext2D;
  readonly look: Look;
  readonly eye: Eye;
}

/** Text below that many CSS pixels is unreadable. */
export const TEXT_LEAST = 8;
const FONT = '"DejaVu Sans Mono", ui-monospace, monospace';
/** Width of a letter of that font, of its height. */
export const LETTER = 0.602;

/** Text on one line, cut with "…" to fit; nothing where it would be too small. Returns the width
 * used. */
export function text(b: Brush, what: string, x: number, y: number, width: number, size: number, ink: string, bold = false): number {
  if (size < TEXT_LEAST) return 0;
  const most = Math.floor(width / (size * LETTER));
  if (most < 2) return 0;
  const letters = [...what];
  const shown = letters.length > most ? letters.slice(0, most - 1).join("") + "…" : what;
  b.c.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  b.c.fillStyle = ink;
  b.c.textBaseline = "middle";
  b.c.textAlign = "left";
  b.c.fillText(shown, x, y);
  return Math.min(letters.length, most) * size * LETTER;
}

/** "7", or "13–23". */
export function stepsLabel(steps: { first: number; last: number; n: number }): string {
  return steps.n === 1 ? String(steps.first) : `${steps.first}–${steps.last}`;
}

/** Words in a round field, of the colour of the critical path unless another is named; y: its
 * middle. Returns its width. */
export function pill(b: Brush, label: string, x: number, y: number, size: number, colour = b.look.theme.mark): number {
  const width = label.length * size * LETTER + 8;
  b.c.fillStyle = colour;
  b.c.beginPath();
  b.c.roundRect(x, y - size * 0.75, width, size * 1.5, size * 0.75);
  b.c.fill();
  text(b, label, x + 4, y, width, size, b.look.theme.ground, true);
  return width;
}

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export function onScreen(item: Rect, eye: Eye): Rect {
  return { x: (item.x - eye.x) * eye.scale, y: (item.y - eye.y) * eye.scale, w: item.w * eye.scale, h: item.h * eye.scale };
}

export function fillOf(b: Brush, item: Item): { style: string; ink: string; share: number | null; observed: boolean } {
  const { colour, style, ink, share } = b.look.colouring.of(item);
  const { theme } = b.look;
  return colour ? { style, ink, share, observed: true } : { style: theme.ground, ink: theme.ink, share, observed: false };
}

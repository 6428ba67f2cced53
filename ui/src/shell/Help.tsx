// All key bindings.

import { signal } from "@preact/signals";
import { Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { allBindings, bind, chordText, type Binding } from "../input/keys";
import { Dialog } from "./Dialog";

const helpOpen = signal(false);

/** Mouse actions common to the views; keys are in the registry. */
const MOUSE: readonly (readonly [string, string])[] = [
  ["Click", "Select what is under the pointer"],
  ["Shift+Click", "On a token: compare the selected one with it"],
  ["Drag", "On the timeline: select time and threads; elsewhere: pan"],
  ["Double-click", "Show what is under the pointer as large as it fits; on Path and Tokens of the memory: show all"],
  ["Wheel", "Scroll"],
  ["Ctrl+Wheel", "Zoom at the pointer"],
  ["Ctrl+Shift+Wheel", "On Path of the memory: zoom the offsets (as Ctrl+Wheel on their numbers)"],
  ["Shift+Wheel", "Pan"],
];

function byScope(list: readonly Binding[]): Map<string, Binding[]> {
  const scopes = new Map<string, Binding[]>([["Everywhere", []]]);
  for (const binding of list) {
    if (binding.keys.length === 0) continue;
    const scope = scopes.get(binding.scope) ?? [];
    scopes.set(binding.scope, [...scope, binding]);
  }
  return scopes;
}

function Keys(props: { binding: Binding }) {
  // The digits of the number pad look like the others.
  const texts = [...new Set(props.binding.keys.map(chordText))];
  return (
    <>
      {texts.map((text, i) => (
        <Fragment key={text}>
          {i > 0 && " or "}
          <kbd>{text}</kbd>
        </Fragment>
      ))}
    </>
  );
}

function Sections() {
  return (
    <div class="sections" tabIndex={0} role="group" aria-label="Bindings">
      {[...byScope(allBindings.value)].map(([scope, list]) => (
        <section key={scope}>
          <h3>{scope}</h3>
          <table>
            <tbody>
              {list.map((binding) => (
                <tr key={binding.id}>
                  <th scope="row">
                    <Keys binding={binding} />
                  </th>
                  <td>
                    {binding.title.replace(/: .*/, "")}
                    {binding.held && <span class="hint"> (hold)</span>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
      <section>
        <h3>Mouse</h3>
        <table>
          <tbody>
            {MOUSE.map(([gesture, what]) => (
              <tr key={gesture}>
                <th scope="row">{gesture}</th>
                <td>{what}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** Opened by ?. */
export function Help() {
  useEffect(
    () =>
      bind({
        id: "help.open",
        keys: ["key:?", "F1"],
        title: "List all keys",
        scope: "Everywhere",
        run: () => {
          helpOpen.value = true;
        },
      }),
    [],
  );
  return (
    <Dialog open={helpOpen} label="Keys" class="help">
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>Keys</h2>
          <p class="hint">Letters mean positions on the keyboard, on every layout.</p>
          <button type="button" autoFocus onClick={() => (helpOpen.value = false)}>
            Close <kbd>Esc</kbd>
          </button>
        </div>
        <Sections />
      </div>
    </Dialog>
  );
}

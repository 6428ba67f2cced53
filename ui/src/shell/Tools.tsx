// Tools of the top bar.

import { useEffect } from "preact/hooks";
import { themeChoice } from "../draw/colour";
import { bind } from "../input/keys";
import { Share } from "./Share";

const THEMES = [
  ["system", "System", "Follow the system"],
  ["dark", "Dark", "Dark"],
  ["light", "Light", "Light"],
] as const;

function useCommands(): void {
  useEffect(
    () =>
      bind(
        ...THEMES.map(([id, , title]) => ({
          id: `theme.${id}`,
          keys: [],
          title: `Colours: ${title.toLowerCase()}`,
          scope: "Everywhere",
          run: () => {
            themeChoice.value = id;
          },
        })),
      ),
    [],
  );
}

export function Tools() {
  useCommands();
  return (
    <div class="tools" role="group" aria-label="Page">
      <Share />
      <select
        aria-label="Light or dark"
        title="Dark, light, or follow the system"
        value={themeChoice.value}
        onChange={(event) => (themeChoice.value = event.currentTarget.value)}
      >
        {THEMES.map(([id, title]) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

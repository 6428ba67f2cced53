// Tools of the top bar.

import { useEffect } from "preact/hooks";
import { themeChoice } from "../draw/colour";
import { bind } from "../input/keys";
import { isNarrow } from "../state/screen";
import { panes, setPaneCount } from "../state/view";
import { Share } from "./Share";

const THEMES = [
  ["system", "Auto", "Follow the system"],
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
      {!isNarrow.value && (
        <select
          aria-label="Views side by side"
          title={"Views side by side (Ctrl+\\ adds one)"}
          value={String(panes.value.length)}
          onChange={(event) => setPaneCount(Number(event.currentTarget.value))}
        >
          <option value="1">◫ 1</option>
          <option value="2">◫ 2</option>
          <option value="3">◫ 3</option>
        </select>
      )}
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

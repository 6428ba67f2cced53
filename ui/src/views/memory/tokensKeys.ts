// Keys of the picture of what each token read; the search box and the help list them.

import { useEffect } from "preact/hooks";
import type { Axis } from "../../draw/axis";
import { bind } from "../../input/keys";
import { isAll } from "./range";

export interface TokensControls {
  /** To the token above or below; to the tensor, layer or expert beside the selected one. */
  row(by: 1 | -1): void;
  column(by: 1 | -1): void;
  /** Around the pointer, what is selected, or the middle. */
  zoom(factor: number): void;
  /** Fits the selection. */
  fit(): void;
  focused(): boolean;
}

const ZOOM_PER_S = 8;
const PAN_PER_S = 1.2;

/** The controls must stay the same object. */
export function useTokensKeys(c: TokensControls, axis: Axis): void {
  useEffect(() => {
    const scope = "Memory tokens";
    const when = () => c.focused();
    return bind(
      { id: "tokens.down", keys: ["ArrowDown"], title: "Token below", scope, when, run: () => c.row(1) },
      { id: "tokens.up", keys: ["ArrowUp"], title: "Token above", scope, when, run: () => c.row(-1) },
      { id: "tokens.right", keys: ["ArrowRight"], title: "Next tensor, layer or expert", scope, when, run: () => c.column(1) },
      { id: "tokens.left", keys: ["ArrowLeft"], title: "Previous tensor, layer or expert", scope, when, run: () => c.column(-1) },
      { id: "tokens.in", keys: ["KeyW", "Equal", "NumpadAdd", "key:+"], title: "Zoom in, at the pointer", scope, held: (s) => c.zoom(ZOOM_PER_S ** -s) },
      { id: "tokens.out", keys: ["KeyS", "Minus", "NumpadSubtract"], title: "Zoom out", scope, held: (s) => c.zoom(ZOOM_PER_S ** s) },
      { id: "tokens.pan-left", keys: ["KeyA"], title: "Pan left", scope, held: (s) => axis.pan(-s * PAN_PER_S, true) },
      { id: "tokens.pan-right", keys: ["KeyD"], title: "Pan right", scope, held: (s) => axis.pan(s * PAN_PER_S, true) },
      { id: "tokens.all", keys: ["Shift+Digit0"], title: "Show all columns", scope, run: () => axis.all() },
      { id: "tokens.fit", keys: ["KeyF"], title: "Fit what is selected", scope, run: () => c.fit() },
      { id: "tokens.reset", keys: ["Escape"], title: "Show all columns again", scope, run: () => axis.all(), when: () => !isAll(axis.target) },
    );
  }, []);
}

// A tile, and the part of it that is shown: its own place, or that of one it stands in for.

import type { Range } from "../../draw/axis";
import type { Tile } from "./tile";

export interface Shown {
  readonly tile: Tile;
  readonly range: Range;
}

// A tile and its drawn part: its own range, or that of one it substitutes.

import type { Range } from "../../draw/axis";
import type { Tile } from "../../api/tile";

export interface Shown {
  readonly tile: Tile;
  readonly range: Range;
}

// How categories look: a colour and a way of hatching each.

import { PATTERN } from "../../draw/rects";

export { categoryColour, type Rgb } from "../../draw/colour";

export const PATTERN_OF: Record<string, number> = {
  input: PATTERN.dots,
  norm: PATTERN.upright,
  attention: PATTERN.rising,
  ffn: PATTERN.plain,
  output: PATTERN.falling,
  other: PATTERN.level,
};

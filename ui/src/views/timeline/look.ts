// How categories look: a colour and a way of hatching each.

import { PATTERN } from "../../draw/rects";

export { categoryColour, type Rgb } from "../../draw/colour";

export const PATTERN_OF: Record<string, number> = {
  input: PATTERN.dots,
  norm: PATTERN.upright,
  attention: PATTERN.rising,
  ffn: PATTERN.plain,
  ssm: PATTERN.rising,
  rwkv: PATTERN.falling,
  conv: PATTERN.upright,
  projector: PATTERN.dots,
  output: PATTERN.falling,
  other: PATTERN.level,
};

// The lines of values: RMS, and the range around it.

import { isDark, seriesColour, type Rgb } from "../../draw/colour";

export function rmsColour(): Rgb {
  return seriesColour(isDark.value ? 5 : 0);
}

export function rangeColour(): Rgb {
  return seriesColour(1);
}

// The tokens, one after the other: choosing, stepping, playing.

/** Under every view. */
export function Scrubber() {
  return null;
}

// The whole run, with the part that the timeline shows.

/** Under every view. */
export function Minimap() {
  return null;
}

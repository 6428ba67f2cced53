// What is selected, in words and figures.

/** Beside the view. */
export function Inspector() {
  return null;
}

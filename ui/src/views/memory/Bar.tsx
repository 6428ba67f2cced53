// The memory map as a bar above the other views.

/** Shows and changes the same selection as the view. */
export function Bar() {
  return null;
}

// All key bindings.

/** Opened by ?. */
export function Help() {
  return null;
}

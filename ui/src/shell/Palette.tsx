// Every command by name.

/** Opened by Ctrl+Shift+P. */
export function Palette() {
  return null;
}

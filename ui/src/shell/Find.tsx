// Finding tensors, ops, tokens and buffers by text.

/** Opened by Ctrl+F. */
export function Find() {
  return null;
}

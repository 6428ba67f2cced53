// What is wrong with the server or the trace, above everything.

/** Shown when the server does not answer, or the trace is damaged or still growing. */
export function Banner() {
  return null;
}

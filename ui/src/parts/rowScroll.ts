// Scrolling over any number of rows: the pure part.
//
// An element cannot be higher than some 17.9 million pixels, which are 745,000 rows. Above
// HEIGHT_MAX the scrollbar's position is a share of the rows, while the wheel and keys move by
// rows.

export const ROW_HEIGHT = 24;
const HEIGHT_MAX = 8_000_000;

export interface RowScroll {
  /** Rows in all. */
  readonly count: number;
  /** CSS pixels of the part that shows rows. */
  readonly bodyHeight: number;
}

/** Height of the scrolled content, without the header. */
export function scrollHeight(s: RowScroll): number {
  return Math.min(s.count * ROW_HEIGHT, HEIGHT_MAX);
}

/** Whether a pixel of the scrollbar is more than a pixel of rows. */
export function isScaled(s: RowScroll): boolean {
  return s.count * ROW_HEIGHT > HEIGHT_MAX;
}

/** The last possible top row (with its fraction). */
export function lastTop(s: RowScroll): number {
  return Math.max(0, s.count - s.bodyHeight / ROW_HEIGHT);
}

export function clampTop(s: RowScroll, top: number): number {
  return Math.min(Math.max(0, top), lastTop(s));
}

/** The top row for a scrollbar position, and back. */
export function topOf(s: RowScroll, scrollTop: number): number {
  const room = scrollHeight(s) - s.bodyHeight;
  return room <= 0 ? 0 : clampTop(s, (scrollTop / room) * lastTop(s));
}

export function scrollTopOf(s: RowScroll, top: number): number {
  const last = lastTop(s);
  return last <= 0 ? 0 : (top / last) * (scrollHeight(s) - s.bodyHeight);
}

/** The top that shows the row, as near as possible to the present one; `centre` when it is not to be
 * seen now: in the middle. */
export function topShowing(s: RowScroll, top: number, row: number, centre: boolean): number {
  const rows = s.bodyHeight / ROW_HEIGHT;
  if (row >= top && row + 1 <= top + rows) return top;
  if (centre) return clampTop(s, row - (rows - 1) / 2);
  return clampTop(s, row < top ? row : row + 1 - rows);
}

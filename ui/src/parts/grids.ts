// The tables of which only the rows to be seen exist, for what needs the others, too: a saved page.

import type { ComponentChildren } from "preact";

/** Of any kind of rows. */
export interface Grid {
  readonly label: string;
  readonly count: number;
  readonly columns: readonly { readonly title: string; readonly number?: boolean }[];
  /** The cells of row i, in the order of the columns; null: it is not there yet. */
  readonly cells: (i: number) => readonly ComponentChildren[] | null;
}

const grids = new WeakMap<Element, Grid>();

export function rememberGrid(element: Element, grid: Grid): void {
  grids.set(element, grid);
}

export function gridOf(element: Element): Grid | null {
  return grids.get(element) ?? null;
}

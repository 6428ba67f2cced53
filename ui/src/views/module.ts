// What a view is to the shell.

import type { ComponentType } from "preact";

export interface ViewEntry {
  /** In the address: "timeline". */
  readonly id: string;
  /** On its tab: "Timeline". */
  readonly title: string;
  /** A sentence for the palette and for screen readers. */
  readonly about: string;
  /** It shows several traces, and stays as it is while another one is chosen and read. */
  readonly ofSeveralTraces?: boolean;
  /** Its code, which comes when it is first shown (or, before, when there is nothing else to do). */
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

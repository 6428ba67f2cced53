// What a view is to the shell.

import type { ComponentType } from "preact";

export interface ViewModule {
  /** In the address: "timeline". */
  readonly id: string;
  /** On its tab: "Timeline". */
  readonly title: string;
  /** A sentence for the palette and for screen readers. */
  readonly about: string;
  readonly Component: ComponentType;
  /** It shows several traces, and stays as it is while another one is chosen and read. */
  readonly ofSeveralTraces?: boolean;
}

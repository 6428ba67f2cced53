// Interface between views and the shell.

import type { ComponentType } from "preact";

export interface ViewEntry {
  /** In the address: "timeline". */
  readonly id: string;
  /** On its tab: "Timeline". */
  readonly title: string;
  /** A sentence for the search box and for screen readers. */
  readonly about: string;
  /** It shows several traces, and stays as it is while another one is selected and read. */
  readonly ofSeveralTraces?: boolean;
  /** Its code, loaded when it is first shown, or before when the page is idle. */
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

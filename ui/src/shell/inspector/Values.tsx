// Outputs of the selected op or tensor. The code is loaded for traces with values.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { OpRef } from "../../state/selection";
import { summary } from "../../state/trace";

export interface ValuesOf {
  /** Of an op, or of all that compute or read a tensor. */
  op?: OpRef;
  tensor?: string;
}

const Shown = signal<{ readonly Selected: ComponentType<ValuesOf> } | null>(null);

export function Values(props: ValuesOf) {
  const has = summary.value?.values_recorded ?? false;
  useEffect(() => {
    // Without it the rest is complete; a new selection retries.
    if (has && !Shown.peek())
      import("../../views/values/Selected").then((module) => (Shown.value = module)).catch(() => undefined);
  }, [has, props.op?.node, props.tensor]);
  if (!has || !Shown.value) return null;
  const { Selected } = Shown.value;
  return <Selected {...props} />;
}

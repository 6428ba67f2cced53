// Names of saved files.

import { plainName } from "../draw/format";
import { layerWords } from "../state/layers";
import { selection } from "../state/selection";
import { summary } from "../state/trace";
import { currentView } from "../state/view";

/** "bigmoe-timeline-token-12-layer-3.png": nothing that a shell or a file system could take wrongly. */
export function fileName(ending: string): string {
  const { token, layer } = selection.peek();
  const parts = [(summary.peek()?.name ?? "trace").replace(/\.ttrace$/, ""), currentView()];
  if (token !== null) parts.push(`token-${token}`);
  if (layer !== null) parts.push(layerWords(layer));
  const name = plainName(parts.join("-")).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[-.]+/, "").slice(0, 100);
  return `${name || "trace"}.${ending}`;
}

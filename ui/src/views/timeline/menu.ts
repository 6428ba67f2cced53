// The context menu on the timeline: of ops, layers and tokens.

import { NONE } from "../../api/tile";
import { announce } from "../../parts/announce";
import type { Asked, CanvasMenu } from "../../parts/CanvasView";
import { menuOfThing, tensorTerm, termFor, type Thing } from "../../parts/thingMenu";
import { layerWords } from "../../state/layers";
import { selection } from "../../state/selection";
import { summary, tensors } from "../../state/trace";
import { timeAxis } from "../../state/timeWindow";
import { currentRow } from "./actions";
import type { Hit } from "./hit";
import { chosenOp } from "./op";
import { hit } from "./pointer";
import { topOf } from "./rows";
import type { Scene } from "./scene";
import { sliceName, sliceToken } from "./shapes";
import { batchAt } from "./tokens";

const VIEWS = ["memory", "graph", "log", "stats"];

function opThing(name: string, op: string, patch: Required<Pick<Thing["patch"], "op" | "token" | "layer" | "tensor">>): Thing {
  const terms = [termFor("op", op), termFor("layer", patch.layer), termFor("token", patch.token), tensorTerm(patch.tensor)];
  return { name, patch, terms, views: [...VIEWS, "values"] };
}

function thingOf(found: Hit): Thing | null {
  if (found.kind === "slice") {
    const { tile, i } = found;
    const s = tile.slices;
    const [weight, layer] = [s.weight[i]!, s.layer_id[i]!];
    return opThing(sliceName(tile, i), tile.kinds[s.kind[i]!]!.op, {
      op: { run: s.run[i]!, node: s.node[i]! },
      token: sliceToken(tile, i),
      layer: layer < 0 ? null : layer,
      tensor: weight === NONE ? null : (tensors.peek()?.name[weight] ?? null),
    });
  }
  if (found.kind === "layer" && found.tile.layers.count[found.i] === 1) {
    const layer = found.tile.layers.first[found.i]!;
    return { name: layerWords(layer), patch: { layer, op: null, tensor: null }, terms: [termFor("layer", layer)], views: VIEWS };
  }
  const b = summary.peek()?.batches;
  const token = b && found.kind === "row" && found.row.kind === "tokens" ? b.batch_id[batchAt(b, found.at_ns)] : undefined;
  return token === undefined ? null : { name: `token ${token}`, patch: { token, op: null }, terms: [termFor("token", token)], views: VIEWS };
}

function ask(x: number, y: number, thing: Thing | null): Asked | null {
  return thing && { x, y, label: thing.name, items: menuOfThing(thing) };
}

export function timelineMenu(scene: () => Scene | null): CanvasMenu {
  return {
    at: (x, y) => {
      const s = scene();
      const found = s && hit(s, x, y);
      const asked = found ? ask(x, y, thingOf(found)) : null;
      if (s && asked) s.pointer.value = null;
      return asked;
    },
    // Of the selected op, at its begin on the track that keys work on.
    ofKeys: () => {
      const s = scene();
      const d = chosenOp.peek();
      const row = s && currentRow(s);
      if (!s || !d) {
        announce(selection.peek().op ? "The op is still loading" : "No op is selected: period and comma go to one");
        return null;
      }
      const range = timeAxis.range.peek();
      const x = (d.start_relative_ns - range.from) / s.nsPerPixel(range);
      const y = row ? topOf(row, s.scroll.peek()) + row.height : 0;
      s.pointer.value = null;
      return ask(x, y, opThing(d.log.name, d.log.op, { op: { run: d.run, node: d.node }, token: d.batch_id, layer: d.log.layer_id, tensor: d.tensor }));
    },
  };
}

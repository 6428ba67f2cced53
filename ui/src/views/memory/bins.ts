// Requests the pages of the visible part whenever it changes.

import { useSignal, useSignalEffect, type ReadonlySignal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Latest } from "../../api/client";
import type { Axis } from "../../draw/axis";
import { selectedTrace } from "../../state/selection";
import { generation } from "../../state/trace";
import { failure, loadingBins, part } from "./data";
import type { Geometry } from "./geometry";
import { missingWords } from "./pageWords";
import { loadBins, shownBins, USUAL_PAGE_BYTES, wantedOf, type AskBins, type Bins, type Paged } from "./pages";

/** The last reply, also while a newer one is loading; null: pages are not shown, or none were
 * recorded. */
export function useBins(geometry: ReadonlySignal<Geometry | null>, axis: Axis, pagedNow: () => Paged | null, compact: boolean): ReadonlySignal<Bins | null> {
  const own = useSignal<Bins | null>(null);
  const out: Signal<Bins | null> = compact ? own : shownBins;
  const requests = useMemo(() => {
    const busy = (is: boolean) => {
      if (!compact) loadingBins.value = is;
    };
    const latest = new Latest<AskBins | null, Bins | null>(
      async (ask) => ask && loadBins(ask),
      (bins) => {
        out.value = bins;
        busy(false);
      },
      (reason) => {
        busy(false);
        failure.value = reason instanceof Error ? reason : new Error(String(reason));
      },
    );
    return (ask: AskBins | null) => {
      busy(ask !== null);
      latest.ask(ask);
    };
  }, []);
  useSignalEffect(() => {
    const g = geometry.value;
    const paged = pagedNow();
    const { params } = part.value;
    const { target } = axis;
    axis.range.value;
    if (!g || !paged || missingWords(g.input.map, paged)) return requests(null);
    const wanted = wantedOf({ map: g.input.map, geometry: g, range: target, scrollY: 0 }, out.peek()?.pageBytes ?? USUAL_PAGE_BYTES);
    return requests({ trace: selectedTrace.value, generation: generation.value, paged, map: g.input.map, params, wanted });
  });
  return out;
}

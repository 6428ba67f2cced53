// Legend of the lanes of pages, and what the picture leaves out.

import { css } from "../../draw/colour";
import { atlas, loadingBins, partWords } from "./data";
import { METRIC_TITLES } from "./heat";
import { LANES } from "./pageScene";
import { missingWords, notes } from "./pageWords";
import { shownBins, type Paged } from "./pages";

export function PageLegend(props: { paged: Paged }) {
  const { paged } = props;
  const missing = atlas.value ? missingWords(atlas.value, paged) : null;
  const bins = shownBins.value?.paged === paged ? shownBins.value : null;
  const about = notesOf(missing, bins && notes(bins));
  return (
    <div class="legend" aria-label="Legend" role="group">
      <span>
        <strong>{METRIC_TITLES[paged]}</strong>, {paged === "pages" ? partWords.value : "the whole run"}
        {!missing && loadingBins.value ? " …" : ""}
      </span>
      {!missing &&
        LANES[paged].map((lane) => (
          <span class="signs" key={lane.title}>
            {lane.title}:
            {lane.kinds.map(({ words, colour }) => (
              <span class="page-sign" key={words}>
                <i class="sign" style={{ background: css(colour) }} /> {words}
              </span>
            ))}
          </span>
        ))}
      {!missing && paged === "pages" && <span class="quiet">paler: few of a pixel's pages</span>}
      {about.map((text) => (
        <span class={missing ? "page-missing" : "quiet"} role={missing ? "note" : undefined} key={text}>
          {text}
        </span>
      ))}
    </div>
  );
}

function notesOf(missing: string | null, list: string[] | null): string[] {
  return missing ? [missing[0]!.toUpperCase() + missing.slice(1) + "."] : (list ?? []);
}

// RMS and range over the layers for a token, and over the tokens for a layer.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import type { Grid } from "../../api/values";
import { isDark } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { selectedLayer, selectedToken } from "../../state/selection";
import { chooseCell } from "./Heat";
import { number } from "./measures";
import { plotRange, plotRms } from "./plot";
import { pointWords, type Profile } from "./profile";

function ValueTable(props: { profile: Profile }) {
  const { profile: p } = props;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{p.along === "layers" ? "Layer" : "Token"}</th>
          {["RMS", "Smallest", "Largest", "Mean"].map((title) => (
            <th scope="col" class="number" key={title}>
              {title}
            </th>
          ))}
          <th scope="col">Not finite</th>
        </tr>
      </thead>
      <tbody>
        {p.x.map((x, i) => (
          <tr key={x}>
            <th scope="row">{p.names[i]}</th>
            {[p.rms, p.min, p.max, p.mean].map((column, k) => (
              <td class="number" key={k}>
                {number(column[i])}
              </td>
            ))}
            <td>{p.bad[i] ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Lines(props: { grid: Grid; profile: Profile }) {
  const { grid, profile } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const upper = useRef<HTMLDivElement>(null);
  const lower = useRef<HTMLDivElement>(null);
  const plots = useRef<uPlot[]>([]);
  const hovered = useSignal<number | null>(null);
  const selected = () => {
    const wanted = profile.along === "layers" ? selectedLayer.value : selectedToken.value;
    return wanted === null ? -1 : (profile.along === "layers" ? grid.layers : grid.batches).indexOf(wanted);
  };
  const choose = (i: number) => {
    const cell = profile.cells[i];
    if (cell !== undefined) chooseCell(grid, { layer: Math.floor(cell / grid.batches.length), token: cell % grid.batches.length });
  };
  const { width, height } = size.value;
  const dark = isDark.value;
  useEffect(() => {
    if (!upper.current || !lower.current || width < 80 || height < 80) return undefined;
    const hooks = { selected, choose, onCursor: (i: number | null) => (hovered.value = i) };
    const each = { width, height: Math.floor(height / 2) };
    plots.current = [plotRms(upper.current, each, profile, hooks), plotRange(lower.current, each, profile, hooks)];
    return () => {
      for (const plot of plots.current) plot.destroy();
      plots.current = [];
    };
  }, [profile, width, height, dark]);
  useSignalEffect(() => {
    selectedLayer.value;
    selectedToken.value;
    for (const plot of plots.current) plot.redraw(false, false);
  });
  const here = useComputed(() => hovered.value ?? (selected() >= 0 ? selected() : null));
  const onKeyDown = (event: KeyboardEvent) => {
    const n = profile.x.length;
    const now = selected();
    const to = { ArrowRight: Math.min(n - 1, now + 1), ArrowLeft: Math.max(0, now - 1), Home: 0, End: n - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(to);
    announce(pointWords(profile, to));
  };
  const at = here.value;
  return (
    <section class="values-lines" aria-label={profile.title}>
      <h2>{profile.title}</h2>
      <p class="values-text">{at !== null && at < profile.x.length ? pointWords(profile, at) : "Point at the plot, or select"}</p>
      <CanvasView
        label={`RMS and range: ${profile.title}`}
        keys="Left and Right select the previous or next one, Home and End the first or last."
        value={at !== null && at < profile.x.length ? pointWords(profile, at) : ""}
        on={{ onKeyDown }}
        table={<ValueTable profile={profile} />}
      >
        <div class="values-plots" ref={ref}>
          <div ref={upper} />
          <div ref={lower} />
        </div>
      </CanvasView>
    </section>
  );
}

// The memory map: accesses to the model file and the buffers.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { counted } from "../../draw/format";
import { bind } from "../../input/keys";
import { Divider } from "../../parts/Divider";
import { announce } from "../../parts/announce";
import { Empty, Failure, Loading } from "../../parts/messages";
import { NoOps } from "../../parts/NoOps";
import { LogTable } from "../../parts/log/LogTable";
import type { LogRowsCache } from "../../parts/log/rows";
import { layerWords } from "../../state/layers";
import { termsText, type Term } from "../../state/logTerms";
import { selectedTrace, selection } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import { showView } from "../../state/view";
import { atlas, failure, followMap, known, logScale, metric, nowNs, reload } from "./data";
import { linesOf, type Fit } from "./geometry";
import { useMapKeys, useViewKeys } from "./keys";
import { Legend } from "./Legend";
import { fullRows, type Row } from "./map";
import { MapCanvas, type MapControls } from "./MapCanvas";
import { useRange } from "./range";
import { scalesOver } from "./scaling";
import { PagesTable } from "./PagesTable";
import { pagedOf } from "./pages";
import { TensorTable } from "./TensorTable";
import { Toolbar, toolbarKeys } from "./Toolbar";
import { mode, MODES, showMode } from "./mode";
import { PathPart } from "./PathPart";
import { TokensPart, TokensTools } from "./TokensPart";
import "./command";
import "./memory.css";

const openParam = urlParam("memory_open", "");
const fitParam = urlParam("memory_fit", "row");
const splitParam = urlParam("memory_split", "0.7");
const rangeParam = urlParam("memory_x", "");
const logParam = urlParam("memory_log", "0");

function toggle(row: Row): void {
  if (!row.opens) return;
  const id = row.id.split(".")[0]!;
  const open = new Set(openParam.value.split(",").filter(Boolean));
  if (!open.delete(id)) open.add(id);
  openParam.value = [...open].join(",");
  announce(`${row.label}: ${open.has(id) ? "by layers" : "one row"}`);
}

function NoFile() {
  const map = atlas.value;
  if (!map || map.segments.kind.includes("file")) return null;
  return (
    <p class="note" role="note">
      The trace has no model file, so there is no FILE track: what the engine read was not observed. The buffers and
      their use are below.
    </p>
  );
}

/** For weights that were read from copies: why the file seems unread, and what to do. */
function Notes() {
  return (
    <>
      {summary.value?.notes.map((text) => (
        <p class="memory-note" key={text}>
          {text}.
        </p>
      ))}
    </>
  );
}

function ModeChoice() {
  return (
    <span class="choice" role="group" aria-label="Picture">
      {MODES.map(({ id, title, about }) => (
        <button type="button" key={id} aria-pressed={mode.value === id} title={about} onClick={() => showMode(id)}>
          {title}
        </button>
      ))}
    </span>
  );
}

/** The map with its tools. */
function MapPart() {
  const axis = useRange(rangeParam);
  const controls = useRef<MapControls | null>(null);
  const lines = useComputed(() => {
    const map = atlas.value;
    return map ? linesOf(map, fullRows(map, new Set(openParam.value.split(","))), true) : [];
  });
  const scales = useComputed(() => scalesOver(known.value, metric.value, logScale.value === "log", nowNs.value));
  const fit = useComputed<Fit>(() => (fitParam.value === "same" ? "same" : "row"));
  useMapKeys(controls, "Memory map");
  useViewKeys(controls, axis, toolbarKeys(fitParam));
  const { tensor, layer } = selection.value;
  const paged = pagedOf(metric.value);
  return (
    <>
      <Toolbar fit={fitParam}>
        <ModeChoice />
      </Toolbar>
      <NoFile />
      <Notes />
      <Legend scales={scales.value} />
      <MapCanvas
        label={`Memory map${tensor ? `, ${tensor} selected` : layer !== null ? `, ${layerWords(layer)} selected` : ""}`}
        lines={lines} scales={scales} axis={axis} fit={fit} compact={false} onLabel={toggle} controls={controls} table={paged ? <PagesTable paged={paged} /> : <TensorTable />}
      />
    </>
  );
}

/** Another picture than the map, with the choice of it. */
function OtherPart() {
  return (
    <>
      <div class="memory-tools" role="toolbar" aria-label="Picture of the memory">
        <ModeChoice />
        {mode.value === "tokens" && <TokensTools />}
      </div>
      {mode.value === "path" ? <PathPart /> : <TokensPart />}
    </>
  );
}

function toggleLog(): void {
  logParam.value = logParam.value === "1" ? "0" : "1";
}

/** "(all) [150 entries]", "(filtered: layer:3) [12 entries]": what the log shows, and how many ops. */
function LogCountText(props: { rows: LogRowsCache; terms: readonly Term[] }) {
  const count = props.rows.count.value;
  const about = count && !count.done ? "about " : "";
  return (
    <span class="memory-log-count">
      ({props.terms.length ? `filtered: ${termsText(props.terms)}` : "all"}) [{count ? about + counted(count.all_rows ?? props.rows.length, "entry", "entries") : "counting"}]
    </span>
  );
}

/** The log of the selection, shut at first. */
function LogPart(props: { share: number }) {
  const open = logParam.value === "1";
  const shown = useSignal<{ rows: LogRowsCache; terms: readonly Term[] } | null>(null);
  return (
    <section class={open ? "memory-log" : "memory-log shut"} style={open ? { flexGrow: 1 - props.share } : {}} aria-label="Log of the selection">
      <button type="button" class="memory-log-head" aria-expanded={open} onClick={toggleLog}>
        {open ? "▾" : "▸"} Log of the selection {open && shown.value && <LogCountText {...shown.value} />}
      </button>
      {open && <LogTable onRows={(rows, terms) => (shown.value = { rows, terms })} />}
    </section>
  );
}

function useModeKeys(): void {
  useEffect(
    () =>
      bind(
        ...MODES.map(({ id, title, about }) => ({ id: `memory.as-${id}`, keys: [], title: `${title}: ${about.toLowerCase()}`, scope: "Memory", run: () => showMode(id) })),
        { id: "memory.show-log", keys: [], title: "Log of the selection below the map: show or hide", scope: "Memory", run: toggleLog },
      ),
    [],
  );
}

function MemoryView() {
  const both = useRef<HTMLDivElement>(null);
  const share = Math.min(0.85, Math.max(0.15, Number(splitParam.value) || 0.7));
  useModeKeys();
  return (
    <div class="memory" ref={both}>
      <section class="memory-map" style={{ flexGrow: logParam.value === "1" ? share : 1 }} aria-label="Memory map">
        {mode.value === "map" ? <MapPart /> : <OtherPart />}
      </section>
      {logParam.value === "1" && <Divider label="Map and log" share={share} onShare={(s) => (splitParam.value = s.toFixed(3))} within={both} />}
      <LogPart share={share} />
    </div>
  );
}

/** A recording that is complete may have no map: no file, and no buffer of llama.cpp's kinds. */
function Nothing() {
  const s = summary.value;
  // Of ops, not of their records: one for each thread.
  const { data } = useResource(`${selectedTrace.value} ${generation.value}`, (abort) =>
    getJson<{ rows: number; done: boolean }>(ofTrace(selectedTrace.peek(), "log/count"), {}, abort),
  );
  if (!s || s.n_ops === 0) return <NoOps />;
  const rows = data.value?.done ? data.value.rows : null;
  return (
    <Empty title="There is no memory map">
      <p>
        This program loaded no GGUF model and no buffers were recorded, so there is no map;{" "}
        {s.clock ? "Timeline and Log have" : "the log has"} its {rows === null ? "ops" : counted(rows, "op")}.
      </p>
      <p>
        <button type="button" onClick={() => showView("timeline")}>
          Show Timeline
        </button>{" "}
        <button type="button" onClick={() => showView("log")}>
          Show Log
        </button>
      </p>
    </Empty>
  );
}

export function Component() {
  useEffect(followMap, []);
  if (failure.value && !atlas.value) return <Failure error={failure.value} retry={reload} />;
  if (!atlas.value) return <Loading what="the memory map" />;
  if (atlas.value.segments.segment.length === 0)
    return (
      <Nothing />
    );
  return <MemoryView />;
}

// One token of both runs, A above B, on one time scale from the token's start.

import { effect, signal, useSignal, type Signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getBinary, Latest, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { Axis, type Range } from "../../draw/axis";
import { CATEGORIES, categoryColour, css, isDark } from "../../draw/colour";
import { duration, plainName } from "../../draw/format";
import { createRects, type RectRenderer } from "../../draw/rects";
import { bind } from "../../input/keys";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { selection } from "../../state/selection";
import { readTile, type Tile } from "../../api/tile";
import type { Pair } from "./answer";
import { askPair, chooseOp, shownSide, traceName, type Traces } from "./pair";
import { sliceAt, stepSlice, type Strip } from "./strip";
import { headText, layOut, paint, SIDES, sliceText, type BothStrips, type Cursor, type SideName } from "./stripPaint";

/** The tiles of both sides for the visible range. */
function useTiles(now: Traces, pair: Pair, axis: Axis, width: number): Record<SideName, Signal<Tile | null>> {
  const tiles = useMemo(() => ({ a: signal<Tile | null>(null), b: signal<Tile | null>(null) }), [now, pair]);
  const { layer, tensor } = selection.value;
  useEffect(() => {
    if (width < 50) return undefined;
    const stops = SIDES.map((side) => {
      const token = pair[side];
      if (!token || token.start_relative_ns === null) return () => {};
      const begin = token.start_relative_ns;
      let asked: Range | null = null;
      const latest = new Latest<Range, Tile>(
        async (r) => {
          const params = { from_ns: begin + r.from, to_ns: begin + r.to, buckets: Math.round(width * 2), layer, tensor };
          return readTile(await getBinary(ofTrace(now[side], "timeline"), params));
        },
        (tile) => (tiles[side].value = tile),
        (reason) => (stripProblem.value = reason instanceof Error ? reason.message : String(reason)),
      );
      return effect(() => {
        const { from, to } = axis.range.value;
        const size = to - from;
        // Requests cover twice the visible range: small pans request nothing.
        if (asked && from >= asked.from && to <= asked.to && size > (asked.to - asked.from) / 3.2) return;
        asked = { from: Math.max(axis.extent.from, from - size / 2), to: to + size / 2 };
        latest.ask(asked);
      });
    });
    return () => {
      for (const stop of stops) stop();
    };
  }, [now, pair, axis, width, layer, tensor]);
  return tiles;
}

const stripProblem = signal("");

function OpTable(props: { strips: Record<SideName, Strip | null>; choose: (at: Cursor) => void }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Run</th>
          <th>Lane</th>
          <th>Op</th>
          <th>Name</th>
          <th class="number">Begins at</th>
          <th class="number">Takes</th>
          <th class="number">Waits</th>
        </tr>
      </thead>
      <tbody>
        {SIDES.flatMap((side) => {
          const strip = props.strips[side];
          if (!strip) return [];
          const { slices, kinds, names, merged } = strip.tile;
          const n = Math.min(slices.n, 400);
          const left = slices.n - n + merged.count.reduce((sum, c) => sum + c, 0);
          return [
            ...Array.from({ length: n }, (_, i) => (
              <tr key={`${side}${i}`} onClick={() => props.choose({ side, slice: i })}>
                <td>{side.toUpperCase()}</td>
                <td>{slices.track[i]}</td>
                <td>{kinds[slices.kind[i]!]?.op}</td>
                <td>{plainName(names[slices.name[i]!] ?? "")}</td>
                <td class="number">{duration(slices.start_ns[i]! - strip.begin_ns)}</td>
                <td class="number">{duration(slices.busy_ns[i])}</td>
                <td class="number">{duration(slices.wait_ns[i])}</td>
              </tr>
            )),
            <tr key={`${side}more`}>
              <td>{side.toUpperCase()}</td>
              <td colSpan={6}>{left ? `and ${left} shorter ones: zoom in to see them` : "all that is shown"}</td>
            </tr>,
          ];
        })}
      </tbody>
    </table>
  );
}

/** Finding, choosing and stepping through ops. */
function usePicking(
  pair: Pair,
  axis: Axis,
  canvas: { current: HTMLCanvasElement | null },
  strips: () => BothStrips,
  cursor: Signal<Cursor | null>,
) {
  const at = (event: PointerEvent | MouseEvent): Cursor | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const { from, to } = axis.range.peek();
    const ns = from + ((event.clientX - box.left) / box.width) * (to - from);
    const y = event.clientY - box.top;
    for (const side of SIDES) {
      const strip = strips()[side];
      const slice = strip ? sliceAt(strip, ns, y, ((to - from) / box.width) * 3) : -1;
      if (slice >= 0) return { side, slice };
    }
    return null;
  };
  const choose = (found: Cursor) => {
    const strip = strips()[found.side];
    const token = pair[found.side];
    if (!strip || !token) return;
    cursor.value = found;
    const { slices, names } = strip.tile;
    const layer = slices.layer_id[found.slice]!;
    void chooseOp(found.side, token.batch_id, {
      name: names[slices.name[found.slice]!] ?? "",
      layer: layer < 0 ? null : layer,
      op: { run: slices.run[found.slice]!, node: slices.node[found.slice]! },
    });
  };
  const step = (by: 1 | -1) => {
    const side = cursor.peek()?.side ?? "a";
    const strip = strips()[side];
    if (!strip) return;
    const slice = stepSlice(strip, cursor.peek()?.slice ?? -1, by);
    cursor.value = { side, slice };
    const start = strip.tile.slices.start_ns[slice]! - strip.begin_ns;
    const { from, to } = axis.target;
    if (start < from || start > to) axis.centre(start, start);
    announce(`${side.toUpperCase()}: ${sliceText(strip, slice)}`);
  };
  return { at, choose, step };
}

function Legend() {
  return (
    <p class="diff-legend">
      {CATEGORIES.map((name) => (
        <span key={name}>
          <i style={{ background: css(categoryColour(name)) }} /> {name}
        </span>
      ))}
      <span>full: working; low and pale: waiting; pale: other tokens; underlined: selected layer or tensor; framed: chosen</span>
    </p>
  );
}

function Both(props: { now: Traces; pair: Pair }) {
  const { now, pair } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const rectCanvas = useRef<HTMLCanvasElement>(null);
  const wordCanvas = useRef<HTMLCanvasElement>(null);
  const proxy = useRef<HTMLDivElement | null>(null);
  const axis = useMemo(() => new Axis(1000), []);
  const hover = useSignal<(Cursor & { x: number; y: number }) | null>(null);
  const cursor = useSignal<Cursor | null>(null);
  const context = useSignal(0);
  const width = size.value.width;
  useMemo(() => {
    const longest = Math.max(pair.a?.time_ns ?? 0, pair.b?.time_ns ?? 0);
    axis.setExtent(-longest * 0.01, longest * 1.03 || 1e6, true);
    hover.value = null;
    cursor.value = null;
  }, [pair]);
  const tiles = useTiles(now, pair, axis, width);
  const [tileA, tileB] = [tiles.a.value, tiles.b.value];
  const strips = useMemo(() => layOut(pair, tileA, tileB), [tileA, tileB, pair]);
  const latest = useRef(strips);
  latest.current = strips;

  useLayoutEffect(() => {
    const canvas = rectCanvas.current;
    const words = wordCanvas.current;
    if (!canvas || !words || width < 50) return undefined;
    const rects: RectRenderer | null = createRects(canvas, () => (context.value += 1));
    const draw = effect(() => paint(rects, words, pair, strips, axis.range.value, width, cursor.value));
    return () => {
      draw();
      rects?.dispose();
    };
  }, [strips, width, isDark.value, context.value, pair]);

  const { at, choose, step } = usePicking(pair, axis, rectCanvas, () => latest.current, cursor);
  useStripKeys(axis, proxy, cursor, step, choose);
  useWheel(proxy, axis);

  const shown = hover.value && strips[hover.value.side];
  return (
    <div class="diff-strips" ref={ref}>
      <CanvasView
        label={`Token of A above token of B: ${headText("a", pair.a, null)}; ${headText("b", pair.b, pair.a)}`}
        value={cursor.value && strips[cursor.value.side] ? sliceText(strips[cursor.value.side]!, cursor.value.slice) : ""}
        keys="W and S zoom, A and D pan, Shift+0 shows all, . and , go from op to op, B switches to the other run, Enter chooses."
        focusRef={proxy}
        on={{
          onPointerMove: (event: PointerEvent) => {
            const found = at(event);
            hover.value = found && { ...found, x: event.clientX, y: event.clientY };
          },
          onPointerLeave: () => (hover.value = null),
          onPointerUp: (event: PointerEvent) => {
            const found = at(event);
            if (found) choose(found);
          },
          onDblClick: () => axis.all(),
        }}
        table={<OpTable strips={strips} choose={choose} />}
      >
        <div class="diff-strip-canvases" style={{ height: `${strips.height}px` }}>
          <canvas ref={rectCanvas} key={`r${context.value}`} />
          <canvas ref={wordCanvas} />
        </div>
      </CanvasView>
      <Legend />
      {hover.value && shown && (
        <Tooltip x={hover.value.x} y={hover.value.y}>
          {hover.value.side.toUpperCase()}: {sliceText(shown, hover.value.slice)}
        </Tooltip>
      )}
    </div>
  );
}

function useWheel(proxy: { current: HTMLDivElement | null }, axis: Axis): void {
  useEffect(() => {
    const element = proxy.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const { from, to } = axis.target;
      const at = from + ((event.clientX - box.left) / box.width) * (to - from);
      const turns = (event.deltaY || event.deltaX) / 400;
      if (event.ctrlKey) axis.zoom(2 ** (turns * 2), at);
      else axis.pan(turns);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
}

function useStripKeys(
  axis: Axis,
  proxy: { current: HTMLDivElement | null },
  cursor: Signal<Cursor | null>,
  step: (by: 1 | -1) => void,
  choose: (at: Cursor) => void,
): void {
  const latest = useRef({ step, choose });
  latest.current = { step, choose };
  useEffect(() => {
    const when = () => proxy.current !== null && proxy.current.contains(document.activeElement);
    const scope = "Diff: the strips";
    const middle = () => (axis.target.from + axis.target.to) / 2;
    return bind(
      { id: "diff.strips.in", keys: ["KeyW", "key:+"], title: "Zoom in", scope, when, held: (s) => axis.zoom(0.1 ** s, middle(), true) },
      { id: "diff.strips.out", keys: ["KeyS", "key:-"], title: "Zoom out", scope, when, held: (s) => axis.zoom(10 ** s, middle(), true) },
      { id: "diff.strips.left", keys: ["KeyA", "ArrowLeft"], title: "Pan left", scope, when, held: (s) => axis.pan(-s, true) },
      { id: "diff.strips.right", keys: ["KeyD", "ArrowRight"], title: "Pan right", scope, when, held: (s) => axis.pan(s, true) },
      { id: "diff.strips.all", keys: ["Shift+Digit0"], title: "Show the whole token", scope, when, run: () => axis.all() },
      { id: "diff.strips.next", keys: ["Period"], title: "Next op of the thread", scope, when, run: () => latest.current.step(1) },
      { id: "diff.strips.previous", keys: ["Comma"], title: "Previous op of the thread", scope, when, run: () => latest.current.step(-1) },
      {
        id: "diff.strips.side",
        keys: ["KeyB"],
        title: "Switch between A and B",
        scope,
        when,
        run: () => {
          cursor.value = { side: cursor.peek()?.side === "b" ? "a" : "b", slice: -1 };
          latest.current.step(1);
        },
      },
      {
        id: "diff.strips.choose",
        keys: ["Enter"],
        title: "Select the op in all views",
        scope,
        when,
        run: () => {
          if (cursor.peek()) latest.current.choose(cursor.peek()!);
        },
      },
    );
  }, []);
}

/** `usual`: the token shown while none is selected. */
export function Strips(props: { now: Traces; usual: number | null }) {
  const { now } = props;
  const side = shownSide.value ?? "a";
  const token = (shownSide.value === null ? null : selection.value.token) ?? props.usual;
  const key = token === null ? null : `${now.a}.${now.b}.${side}.${token}`;
  const pair = useResource(key, (abort) => askPair(now, side, token!, abort));
  const found = pair.data.value;
  return (
    <section class="diff-section" aria-label="One token in both runs">
      <h2>One token in both runs</h2>
      {pair.error.value && <p class="diff-problem">{pair.error.value.message}</p>}
      {stripProblem.value && <p class="diff-problem">{stripProblem.value}</p>}
      {token === null && <p>No token is selected.</p>}
      {found && <Both now={now} pair={found} />}
      {found && selection.value.token === null && (
        <p class="diff-hint">
          No token is selected: this is token {token} of {plainName(traceName(now[side]))}, in the middle of the run.
        </p>
      )}
    </section>
  );
}

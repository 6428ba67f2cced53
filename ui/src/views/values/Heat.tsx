// Layers x tokens on a canvas; the keyboard moves a cursor over the cells.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Grid } from "../../api/values";
import { isDark } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { select, selectedLayer, selectedToken } from "../../state/selection";
import { drawCells, drawMarks, geometryOf, layerAt, LEFT, placeAt, type Place } from "./draw";
import { cellWords, extentOf, type Measure } from "./measures";
import { chooseOutput } from "./state";

function moved(event: KeyboardEvent, at: Place, g: Grid): Place | null {
  const page = Math.max(1, Math.round(g.batches.length / 10));
  const by: Record<string, readonly [number, number]> = {
    ArrowRight: [0, event.shiftKey ? page : 1],
    ArrowLeft: [0, event.shiftKey ? -page : -1],
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    Home: [0, -g.batches.length],
    End: [0, g.batches.length],
    PageDown: [g.layers.length, 0],
    PageUp: [-g.layers.length, 0],
  };
  const step = by[event.key];
  if (!step) return null;
  const within = (n: number, most: number) => Math.min(Math.max(0, n), most - 1);
  return { layer: within(at.layer + step[0], g.layers.length), token: within(at.token + step[1], g.batches.length) };
}

/** The cell in the grid's columns. */
function cellOf(g: Grid, at: Place): number {
  return at.layer * g.batches.length + at.token;
}

export function chooseCell(g: Grid, at: Place): void {
  const i = cellOf(g, at);
  const [token, layer] = [g.batches[at.token] ?? null, g.layers[at.layer] ?? null];
  if (g.outputs[i] === 0) {
    select({ token, layer, op: null, tensor: null });
    announce(cellWords(g, i));
    return;
  }
  void chooseOutput({ run: g.run[i]!, node: g.node[i]!, token, layer }, cellWords(g, i));
}

export function Heat(props: { grid: Grid; measure: Measure; label: string }) {
  const { grid, measure } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const cells = useRef<HTMLCanvasElement>(null);
  const marks = useRef<HTMLCanvasElement>(null);
  const cursor = useSignal<Place>({ layer: 0, token: 0 });
  const focused = useSignal(false);
  const pointed = useSignal<(Place & { x: number; y: number }) | null>(null);
  const extent = useMemo(() => extentOf(grid, measure), [grid, measure]);
  const { width, height } = size.value;
  const geometry = useMemo(() => geometryOf(grid, width, height), [grid, width, height]);
  const dark = isDark.value;
  const drawn = width > 0 && height > 0;
  useEffect(() => {
    if (cells.current && drawn) drawCells(cells.current, grid, geometry, measure, extent, dark);
  }, [grid, geometry, measure, extent, dark]);
  const mark = () => {
    isDark.value;
    const all = { layer: selectedLayer.value, token: selectedToken.value, cursor: focused.value ? cursor.value : null };
    if (marks.current && drawn) drawMarks(marks.current, grid, geometry, all);
  };
  useSignalEffect(mark);
  useEffect(mark, [grid, geometry]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cursor.peek();
    if (event.key === "Enter") {
      event.preventDefault();
      return chooseCell(grid, at);
    }
    const to = moved(event, at, grid);
    if (!to) return undefined;
    event.preventDefault();
    cursor.value = to;
    return announce(cellWords(grid, cellOf(grid, to)));
  };
  const find = (event: PointerEvent) => {
    const box = cells.current?.getBoundingClientRect();
    if (!box) return null;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return { x, y, place: placeAt(grid, measure, geometry, x, y) };
  };
  const onPointerUp = (event: PointerEvent) => {
    const at = find(event);
    if (at?.place) {
      cursor.value = at.place;
      chooseCell(grid, at.place);
    } else if (at && at.x < LEFT && grid.layers[layerAt(geometry, at.y)] !== undefined)
      select({ layer: grid.layers[layerAt(geometry, at.y)] ?? null });
  };
  const at = cursor.value.layer < grid.layers.length && cursor.value.token < grid.batches.length ? cursor.value : { layer: 0, token: 0 };
  const under = pointed.value;
  return (
    <>
      <CanvasView
        label={props.label}
        keys="The arrow keys move over tokens and layers, with Shift by a tenth of the tokens; Home and End go to the first and last token, Page Up and Down to the first and last layer; Enter selects."
        value={cellWords(grid, cellOf(grid, at))}
        on={{
          onKeyDown,
          onPointerUp,
          onPointerMove: (event) => {
            const found = find(event)?.place;
            pointed.value = found ? { ...found, x: event.clientX, y: event.clientY } : null;
          },
          onPointerLeave: () => (pointed.value = null),
          onFocus: () => (focused.value = true),
          onBlur: () => (focused.value = false),
        }}
      >
        <div class="values-host" ref={ref}>
          <canvas ref={cells} style={{ width: `${geometry.width}px`, height: `${geometry.height}px` }} />
          <canvas ref={marks} style={{ width: `${geometry.width}px`, height: `${geometry.height}px` }} />
        </div>
      </CanvasView>
      {under && under.layer < grid.layers.length && under.token < grid.batches.length && (
        <Tooltip x={under.x} y={under.y}>
          {cellWords(grid, cellOf(grid, under))}
        </Tooltip>
      )}
    </>
  );
}

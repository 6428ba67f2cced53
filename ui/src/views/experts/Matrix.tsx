// Layers x experts on a canvas; the keyboard moves a cursor over the cells.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Layer } from "../../api/experts";
import { isDark } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { select, selectedLayer } from "../../state/selection";
import { cellAt, draw, extentOf, gridOf, layerAt, LEFT, type Extent, type Grid, type Marks } from "./draw";
import { expert, setExpert, type Measure } from "./state";
import { cellWords, chooseCell } from "./words";

interface Place {
  readonly layer: number;
  readonly expert: number;
}

function moved(event: KeyboardEvent, at: Place, layers: readonly Layer[]): Place | null {
  const last = (layers[at.layer]?.n_experts ?? 1) - 1;
  const by: Record<string, Place> = {
    ArrowRight: { layer: at.layer, expert: at.expert + 1 },
    ArrowLeft: { layer: at.layer, expert: at.expert - 1 },
    ArrowDown: { layer: at.layer + 1, expert: at.expert },
    ArrowUp: { layer: at.layer - 1, expert: at.expert },
    Home: { layer: at.layer, expert: 0 },
    End: { layer: at.layer, expert: last },
    PageDown: { layer: layers.length - 1, expert: at.expert },
    PageUp: { layer: 0, expert: at.expert },
  };
  const to = by[event.key];
  if (!to) return null;
  const layer = Math.min(Math.max(0, to.layer), layers.length - 1);
  return { layer, expert: Math.min(Math.max(0, to.expert), (layers[layer]?.n_experts ?? 1) - 1) };
}

export function Matrix(props: { layers: readonly Layer[]; measure: Measure; chosen: Marks["chosen"]; label: string }) {
  const { layers, measure, chosen } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useSignal<Place>({ layer: 0, expert: 0 });
  const focused = useSignal(false);
  const pointed = useSignal<(Place & { x: number; y: number }) | null>(null);
  const extent: Extent = useMemo(() => extentOf(layers, measure), [layers, measure]);
  const { width, height } = size.value;
  const grid: Grid = gridOf(layers, width, height);
  const paint = () => {
    if (!canvas.current || width === 0 || height === 0) return;
    const marks: Marks = { selectedLayer: selectedLayer.value, selectedExpert: expert(), cursor: focused.value ? cursor.value : null, chosen };
    draw(canvas.current, grid, layers, measure, extent, marks, isDark.value);
  };
  useSignalEffect(paint);
  useEffect(paint, [layers, measure, chosen, width, height]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cursor.peek();
    if (event.key === "Enter") {
      event.preventDefault();
      const l = layers[at.layer];
      if (l) chooseCell(l, at.expert, measure);
      return;
    }
    const to = moved(event, at, layers);
    if (!to) return;
    event.preventDefault();
    cursor.value = to;
    announce(cellWords(layers[to.layer]!, to.expert, measure));
  };
  const find = (event: PointerEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return { x, y, cell: cellAt(grid, layers, x, y) };
  };
  const onPointerUp = (event: PointerEvent) => {
    const at = find(event);
    if (!at) return;
    if (at.cell) {
      cursor.value = at.cell;
      chooseCell(layers[at.cell.layer]!, at.cell.expert, measure);
    } else if (at.x < LEFT) {
      const l = layers[layerAt(grid, at.y)];
      if (!l) return;
      setExpert(null, null);
      select({ layer: l.layer_id });
    }
  };
  const under = pointed.value;
  const l = under && layers[under.layer];
  return (
    <>
      <CanvasView
        label={props.label}
        keys="The arrow keys move over layers and experts, Home and End to the first and last expert, Page Up and Down to the first and last layer; Enter selects."
        value={layers[cursor.value.layer] ? cellWords(layers[cursor.value.layer]!, cursor.value.expert, measure) : ""}
        on={{
          onKeyDown,
          onPointerUp,
          onPointerMove: (event) => {
            const at = find(event);
            pointed.value = at?.cell ? { ...at.cell, x: event.clientX, y: event.clientY } : null;
          },
          onPointerLeave: () => (pointed.value = null),
          onFocus: () => (focused.value = true),
          onBlur: () => (focused.value = false),
        }}
      >
        <div class="experts-host" ref={ref}>
          <canvas ref={canvas} style={{ width: `${grid.width}px`, height: `${grid.height}px` }} />
        </div>
      </CanvasView>
      {under && l && (
        <Tooltip x={under.x} y={under.y}>
          {cellWords(l, under.expert, measure)}
        </Tooltip>
      )}
    </>
  );
}

// The timeline: tokens, layers, lanes and counters over time.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { duration } from "../../draw/format";
import { CanvasView } from "../../parts/CanvasView";
import { Empty, Failure } from "../../parts/messages";
import { useSize } from "../../parts/useSize";
import { selection } from "../../state/selection";
import { summary } from "../../state/trace";
import { followLanes } from "../../state/timelineLanes";
import { loadOverview, overview, overviewError } from "../../state/timelineOverview";
import { followCounters } from "./counters";
import { FlamePanel, isFlameShown } from "./FlamePanel";
import { Gutter } from "./Gutter";
import { bindKeys } from "./keys";
import { timelineMenu } from "./menu";
import { OpTable } from "./OpTable";
import { followOffCpu } from "./offCpu";
import { followOp } from "./op";
import { other } from "./other";
import { Panel } from "./Panel";
import { followPool, poolError } from "./pool";
import { PoolTables } from "./PoolTables";
import { hit, PointerInput } from "./pointer";
import { followSelection } from "./reveal";
import { viewHeight } from "./rows";
import { Scene } from "./scene";
import { settled } from "./settled";
import { tileError } from "./tiles";
import { Tip } from "./Tip";
import { Toolbar } from "./Toolbar";
import "./timeline.css";

const KEYS =
  "W and S zoom, A and D move through time, Shift+0 shows all, F fits the selection, period and comma step along " +
  "the track, Shift with arrow up and down goes to another track, Shift with P pins it, C folds it, M sums the ops in view, Shift with F10 opens a menu of the selected op.";

function useScene() {
  const scene = useSignal<Scene | null>(null);
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  /** Incremented when the GPU lost its context: then both canvases are recreated. */
  const lost = useSignal(0);
  useLayoutEffect(() => {
    if (!below.current || !above.current) return undefined;
    const made = new Scene(below.current, above.current, () => lost.value++);
    scene.value = made;
    return () => {
      scene.value = null;
      made.dispose();
    };
  }, [lost.value]);
  return { scene, below, above, lost };
}

function Canvases() {
  const { scene, below, above, lost } = useScene();
  const { ref, size } = useSize<HTMLDivElement>();
  const input = useComputed(() => (scene.value && ref.current ? new PointerInput(scene.value, ref.current) : null));
  useSignalEffect(() => {
    if (!scene.value) return;
    viewHeight.value = size.value.height;
    scene.value.size.value = size.value;
    scene.value.scrollTo(scene.value.scroll.peek());
  });
  useEffect(() => bindKeys(() => scene.peek()), []);
  useEffect(() => followCounters(), []);
  useEffect(() => followPool(), []);
  useEffect(() => followOffCpu(), []);
  useEffect(() => followSelection(), []);
  useEffect(() => followOp(), []);
  useEffect(() => followLanes(), []);
  useEffect(() => {
    const element = ref.current;
    const wheel = (event: WheelEvent) => input.peek()?.wheel(event);
    // Not passive: a page that scrolls or zooms as well would be no use.
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  }, []);
  const value = useComputed(() => {
    const { range, n_ops, n_merged, below } = settled.value;
    const second = below && other.value ? `, token ${other.value.token} under token ${other.value.beside}` : "";
    return `${duration(range.to - range.from)} from ${duration(range.from)} on, ${n_ops} single ops, ${n_merged} merged${second}`;
  });
  return (
    <div class="tl-body">
      <Gutter scene={scene.value} />
      <CanvasView
        label={`Timeline of ${overview.value?.lanes ?? 1} threads`}
        keys={KEYS}
        value={value.value}
        focusRef={ref}
        table={
          <>
            <OpTable />
            <OpTable below />
            {summary.value?.pool_recorded && <PoolTables />}
          </>
        }
        menu={timelineMenu(() => scene.peek())}
        on={{
          onPointerDown: (event) => input.value?.down(event),
          onPointerMove: (event) => input.value?.move(event),
          onPointerUp: (event) => input.value?.up(event),
          onPointerCancel: () => input.value?.cancel(),
          onPointerLeave: () => input.value?.leave(),
          onDblClick: (event) => input.value?.double(event),
        }}
      >
        <canvas ref={below} key={`below${lost.value}`} aria-hidden="true" />
        <canvas ref={above} key={`above${lost.value}`} aria-hidden="true" />
      </CanvasView>
      {scene.value?.failed.value && (
        <Empty title="This browser supports neither WebGL2 nor a 2D canvas">
          <p>Turn on hardware acceleration, or use another browser. The table below the timeline needs neither.</p>
        </Empty>
      )}
      <Pointed scene={scene.value} box={ref.current} />
      <SceneToolbar scene={scene.value} />
    </div>
  );
}

function Pointed(props: { scene: Scene | null; box: HTMLElement | null }) {
  const { scene, box } = props;
  const at = scene?.pointer.value;
  if (!scene || !box || !at || scene.drag.value) return null;
  const { left, top } = box.getBoundingClientRect();
  return <Tip hit={hit(scene, at.x, at.y)} x={left + at.x} y={top + at.y} />;
}

function SceneToolbar(props: { scene: Scene | null }) {
  return <Toolbar scene={props.scene} />;
}

export function Timeline() {
  if (!summary.value?.clock)
    return (
      <Empty title="This trace has no clock">
        <p>Its ticks cannot be converted to time, so there is no timeline. The log lists the ops in order.</p>
      </Empty>
    );
  const error = overviewError.value ?? tileError.value ?? poolError.value;
  if (error && !overview.value) return <Failure error={error} retry={loadOverview} />;
  return (
    <div class="timeline">
      {error && (
        <p class="tl-error" role="alert">
          {error.message}
        </p>
      )}
      {summary.value.n_ops === 0 && (
        <p class="tl-error" role="status">
          No ops were recorded: the threads' rows are empty. Batches and buffers are shown.
        </p>
      )}
      <Canvases />
      {isFlameShown() && <FlamePanel />}
      {selection.value.time && <Panel />}
    </div>
  );
}

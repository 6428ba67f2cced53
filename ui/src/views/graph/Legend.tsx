// Legend of colours, marks and shapes.

import { useLayoutEffect, useRef } from "preact/hooks";
import { drawOn } from "../../draw/canvas";
import { CATEGORIES, categoryColour, css, isDark, sequence, type Rgb } from "../../draw/colour";
import { bytes, counted, duration } from "../../draw/format";
import { useTallest } from "../../parts/useTallest";
import { COLOUR_TITLES, ORIGINS, type Colouring } from "./colours";
import { badOps } from "./bad";
import type { Origin, TokenGraph } from "./graph";
import { originMark } from "./paintBoxes";
import { readTheme } from "./brush";

/** Draws on a small canvas: styles in the page are not allowed to name colours of data. */
function Drawn(props: { width: number; height: number; draw: (c: CanvasRenderingContext2D) => void }) {
  const ref = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (ref.current) drawOn(ref.current, props.width, props.height, props.draw);
  });
  return <canvas ref={ref} class="graph-swatch" style={{ width: `${props.width}px`, height: `${props.height}px` }} aria-hidden="true" />;
}

function Swatch(props: { colour: Rgb }) {
  return (
    <Drawn
      width={14}
      height={14}
      draw={(c) => {
        c.fillStyle = css(props.colour);
        c.fillRect(1, 1, 12, 12);
      }}
    />
  );
}

function Scale(props: { dark: boolean }) {
  return (
    <Drawn
      width={90}
      height={14}
      draw={(c) => {
        for (let i = 0; i < 90; i++) {
          c.fillStyle = css(sequence(i / 89, props.dark));
          c.fillRect(i, 1, 1, 12);
        }
      }}
    />
  );
}

function OriginEntry(props: { origin: Origin }) {
  return (
    <li>
      <Drawn width={14} height={14} draw={(c) => originMark(c, props.origin, 7, 7, 9, readTheme().ink)} />
      {props.origin === "unknown" ? "not observed" : props.origin}
    </li>
  );
}

/** Only if there is something to explain. */
function BadEntry(props: { g: TokenGraph }) {
  const n = badOps(props.g).size;
  if (n === 0) return null;
  return (
    <li>
      <Drawn
        width={14}
        height={14}
        draw={(c) => {
          c.strokeStyle = readTheme().bad;
          c.lineWidth = 2.5;
          c.strokeRect(2, 2, 10, 10);
        }}
      />
      <b>NaN or Inf</b> in the output of {counted(n, "op")}
    </li>
  );
}

export function Legend(props: { g: TokenGraph; colouring: Colouring }) {
  const { g, colouring } = props;
  const dark = isDark.value;
  const { by } = colouring;
  const box = useTallest<HTMLUListElement>(by);
  const amount = by === "bytes" ? bytes : duration;
  return (
    <ul class="graph-legend" aria-label="Legend" ref={box}>
      <li>
        <b>{by === "origin" ? "Colour and marks:" : `${COLOUR_TITLES[by]}:`}</b>
      </li>
      {(by === "time" || by === "bytes") && (
        <li title="The colour grows with the square root of the value, the bar at the foot of a box with the value itself.">
          0 <Scale dark={dark} /> {amount(colouring.opMost)} an op, {amount(colouring.partMost)} a layer; broken border: not
          observed
        </li>
      )}
      {by === "category" &&
        CATEGORIES.map((category) => (
          <li key={category}>
            <Swatch colour={categoryColour(category)} /> {category}
          </li>
        ))}
      {by !== "origin" && (
        <li>
          <b>Operands:</b>
        </li>
      )}
      {ORIGINS.map((origin) => (
        <OriginEntry key={origin} origin={origin} />
      ))}
      <BadEntry g={g} />
    </ul>
  );
}

// RMS within smallest and largest element from token to token, as small as the inspector.

import { useLayoutEffect, useRef } from "preact/hooks";
import { css, isDark, themeColour } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import { selectedToken } from "../../state/selection";
import { rangeColour, rmsColour } from "./colours";
import { pointWords, type Profile } from "./profile";

const WIDTH = 226;
const HEIGHT = 64;

type Column = readonly (number | null)[];

function scaleOf(values: Column): (v: number) => number {
  let [least, most] = [0, 0];
  for (const v of values) {
    least = Math.min(least, v ?? 0);
    most = Math.max(most, v ?? 0);
  }
  return (v) => HEIGHT - 4 - ((v - least) / (most - least || 1)) * (HEIGHT - 8);
}

function draw(c: CanvasRenderingContext2D, p: Profile, token: number | null): void {
  const n = p.x.length;
  const x = (i: number) => 3 + (n > 1 ? i / (n - 1) : 0.5) * (WIDTH - 6);
  const y = scaleOf([...p.min, ...p.max, ...p.rms]);
  const line = (values: Column, ink: string, width: number) => {
    c.strokeStyle = ink;
    c.lineWidth = width;
    c.beginPath();
    let before = false;
    values.forEach((v, i) => {
      if (v !== null && before) c.lineTo(x(i), y(v));
      else if (v !== null) c.moveTo(x(i), y(v));
      before = v !== null;
    });
    c.stroke();
  };
  c.fillStyle = css(rangeColour(), 0.25);
  const wide = Math.max(1, WIDTH / n);
  for (let i = 0; i < n; i++) {
    const [min, max] = [p.min[i], p.max[i]];
    if (min != null && max != null) c.fillRect(x(i) - wide / 2, y(max), wide, Math.max(1, y(min) - y(max)));
  }
  line(p.max, css(rangeColour()), 1);
  line(p.min, css(rangeColour()), 1);
  line(p.rms, css(rmsColour()), 1.8);
  c.fillStyle = themeColour("--bad");
  p.bad.forEach((what, i) => {
    if (what) c.fillRect(x(i) - 1.5, 0, 3, HEIGHT);
  });
  const at = token === null ? -1 : p.x.indexOf(token);
  if (at < 0) return;
  c.strokeStyle = themeColour("--accent");
  c.lineWidth = 1.5;
  c.strokeRect(x(at), 0, 0, HEIGHT);
}

export function Small(props: { profile: Profile }) {
  const { profile: p } = props;
  const ref = useRef<HTMLCanvasElement>(null);
  const token = selectedToken.value;
  const dark = isDark.value;
  useLayoutEffect(() => {
    if (ref.current) drawOn(ref.current, WIDTH, HEIGHT, (c) => draw(c, p, token));
  }, [p, token, dark]);
  const at = token === null ? -1 : p.x.indexOf(token);
  const words = [0, ...(at > 0 ? [at] : []), p.x.length - 1].map((i) => pointWords(p, i)).join("; ");
  return (
    <canvas
      ref={ref}
      class="values-small"
      style={{ width: `${WIDTH}px`, height: `${HEIGHT}px` }}
      role="img"
      aria-label={`RMS, smallest and largest element over the tokens: ${words}`}
    />
  );
}

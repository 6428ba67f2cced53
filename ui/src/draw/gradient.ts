// Backgrounds that style sheets draw with gradients (ramps and hatched signs of legends), on a 2D context.

interface Stop {
  readonly colour: string;
  /** Pixels along the gradient's line. */
  readonly at: number;
}

/** Divides at commas outside brackets. */
function parts(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

function angleOf(text: string | undefined): number | null {
  const degrees = /^(-?[\d.]+)deg$/.exec(text ?? "");
  if (degrees) return (Number(degrees[1]) * Math.PI) / 180;
  return { "to right": Math.PI / 2, "to left": -Math.PI / 2, "to top": 0, "to bottom": Math.PI }[text ?? ""] ?? null;
}

function stopsOf(list: readonly string[], length: number): Stop[] {
  const stops: { colour: string; at: number | null }[] = [];
  for (const each of list) {
    const found = /^(.*?\)|#\w+|[a-z]+)((?:\s+-?[\d.]+(?:px|%))*)$/i.exec(each);
    if (!found) continue;
    const places = [...found[2]!.matchAll(/(-?[\d.]+)(px|%)/g)].map((m) => (m[2] === "%" ? (Number(m[1]) / 100) * length : Number(m[1])));
    for (const at of places.length ? places : [null]) stops.push({ colour: found[1]!, at });
  }
  if (stops.length === 0) return [];
  stops[0]!.at ??= 0;
  stops.at(-1)!.at ??= length;
  stops.forEach((stop, i) => {
    if (stop.at !== null) return;
    const next = stops.findIndex((s, k) => k > i && s.at !== null);
    const from = stops[i - 1]!.at!;
    stop.at = from + (stops[next]!.at! - from) / (next - i + 1);
  });
  return stops as Stop[];
}

function mixed(a: string, b: string, share: number): string {
  return a === b ? a : `color-mix(in srgb, ${a} ${Math.round((1 - share) * 100)}%, ${b})`;
}

const STEPS = 8;

/** `image`: a computed background-image; `size`: background-size. */
export function drawGradient(c: CanvasRenderingContext2D, image: string, size: string, x: number, y: number, w: number, h: number): void {
  const found = /^(repeating-)?(linear|radial)-gradient\((.*)\)$/s.exec(image);
  if (!found || w <= 0 || h <= 0) return;
  const list = parts(found[3]!);
  c.save();
  c.beginPath();
  c.rect(x, y, w, h);
  c.clip();
  if (found[2] === "radial") drawDots(c, list, size, x, y, w, h);
  else {
    const angle = angleOf(list[0]);
    if (angle !== null) list.shift();
    drawBands(c, list, angle ?? Math.PI, found[1] !== undefined, x, y, w, h);
  }
  c.restore();
}

function drawBands(c: CanvasRenderingContext2D, list: readonly string[], angle: number, repeats: boolean, x: number, y: number, w: number, h: number): void {
  const [dx, dy] = [Math.sin(angle), -Math.cos(angle)];
  const length = Math.abs(w * dx) + Math.abs(h * dy);
  const stops = stopsOf(list, length);
  const [first, last] = [stops[0], stops.at(-1)];
  if (!first || !last) return;
  const [x0, y0] = [x + w / 2 - (dx * length) / 2, y + h / 2 - (dy * length) / 2];
  const far = w + h;
  const band = (from: number, to: number, colour: string) => {
    if (to <= from || from > length || to < 0 || colour === "transparent" || /^rgba\(.*,\s*0\)$/.test(colour)) return;
    c.fillStyle = colour;
    c.beginPath();
    c.moveTo(x0 + dx * from - dy * far, y0 + dy * from + dx * far);
    c.lineTo(x0 + dx * from + dy * far, y0 + dy * from - dx * far);
    c.lineTo(x0 + dx * to + dy * far, y0 + dy * to - dx * far);
    c.lineTo(x0 + dx * to - dy * far, y0 + dy * to + dx * far);
    c.closePath();
    c.fill();
  };
  const period = repeats ? Math.max(1, last.at - first.at) : Infinity;
  for (let begin = 0; begin < length; begin += period)
    for (let i = 1; i < stops.length; i++) {
      const [a, b] = [stops[i - 1]!, stops[i]!];
      const n = a.colour === b.colour ? 1 : STEPS;
      for (let k = 0; k < n; k++) {
        const place = (share: number) => begin + a.at + (b.at - a.at) * share;
        // Overlapping, so that what is below does not show between them.
        band(place(k / n), place((k + 1) / n) + (n > 1 ? 0.5 : 0), mixed(a.colour, b.colour, (k + 0.5) / n));
      }
    }
  if (!repeats) band(last.at, length, last.colour);
}

function drawDots(c: CanvasRenderingContext2D, list: readonly string[], size: string, x: number, y: number, w: number, h: number): void {
  const step = parseFloat(size) || Math.min(w, h);
  const [dot, ground] = stopsOf(list, step);
  if (!dot) return;
  if (ground && ground.colour !== "transparent") {
    c.fillStyle = ground.colour;
    c.fillRect(x, y, w, h);
  }
  c.fillStyle = dot.colour;
  for (let top = y; top < y + h; top += step)
    for (let left = x; left < x + w; left += step) c.fillRect(left + step / 2 - dot.at, top + step / 2 - dot.at, 2 * dot.at, 2 * dot.at);
}

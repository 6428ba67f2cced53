// Saves the graph: SVG of all of it, PNG as large as browsers support.

import { badItems } from "./bad";
import { css, inkOn, isDark } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { readTheme, type Theme } from "./brush";
import { originColour, type Colouring } from "./colours";
import type { TokenGraph } from "./graph";
import { paint } from "./paint";
import type { PathInScene } from "./path";
import { HEADER, type Item, type Scene } from "./scene";

/** Pixels a side, which all browsers draw. */
const PNG_SIDE_MAX = 8192;
const MARGIN = 20;

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  announce(`Saved ${name}`);
}

function fileName(g: TokenGraph, ending: string): string {
  const which = g.reply.batch_id === null ? `graph-${g.reply.graph_id}` : `token-${g.reply.batch_id}`;
  return `${which}-graph.${ending}`;
}

/** Escapes text of a trace for XML. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const n = (v: number) => v.toFixed(1);

function label(text: string, x: number, y: number, width: number, size: number, ink: string, bold = false): string {
  const most = Math.max(1, Math.floor(width / (size * 0.602)));
  const letters = [...text];
  const shown = letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
  return `<text x="${n(x)}" y="${n(y)}" font-size="${size}" fill="${ink}"${bold ? ' font-weight="600"' : ""}>${escaped(shown)}</text>`;
}

function partSvg(g: TokenGraph, scene: Scene, item: Item, fill: string, ink: string, theme: Theme): string {
  if (!scene.open[item.part])
    return (
      `<rect x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}" rx="8" fill="${fill}" stroke="${theme.ink2}"/>` +
      label(g.partSentence(item.part), item.x + 10, item.y + item.h / 2 + 4, item.w - 20, 11, ink, true)
    );
  return (
    `<rect x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}" rx="6" fill="${theme.ground2}" stroke="${theme.line}"/>` +
    label(g.partSentence(item.part), item.x + 10, item.y + HEADER * 0.7, item.w - 20, 12, theme.ink, true)
  );
}

function boxSvg(g: TokenGraph, item: Item, colouring: Colouring, theme: Theme): string {
  const { x, y, w, h, kind, tensor } = item;
  const fill = colouring.of(item).colour;
  const at = `x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}"`;
  if (kind === "op") {
    const ink = fill ? inkOn(fill) : theme.ink;
    return (
      `<g><title>${escaped(g.sentence(tensor))}</title><rect ${at} fill="${fill ? css(fill) : theme.ground}" stroke="${theme.ink2}"${fill ? "" : ' stroke-dasharray="4 3"'}/>` +
      label(g.op(tensor), x + 6, y + 15, w - 12, 11, ink, true) +
      label(g.name(tensor), x + 6, y + 31, w - 12, 11, ink) +
      "</g>"
    );
  }
  if (kind === "view")
    return `<rect ${at} rx="${n(h / 2)}" fill="${theme.ground}" stroke="${theme.ink2}" stroke-dasharray="3 2"/>${label(g.op(tensor), x + 9, y + 13, w - 12, 10, theme.ink2)}`;
  if (kind === "leaf")
    return `<g><title>${escaped(g.sentence(tensor))}</title><rect ${at} rx="5" fill="${theme.ground3}" stroke="${css(originColour(g.origin(tensor)))}" stroke-width="2"/>${label(g.component(tensor) || g.name(tensor), x + 6, y + 13, w - 10, 10, theme.ink)}</g>`;
  return w > h * 1.5
    ? `<rect ${at} rx="3" fill="${theme.ground}" stroke="${theme.ink2}"/>${label(g.name(tensor), x + 4, y + 13, w - 8, 10, theme.ink)}`
    : `<circle cx="${n(x + w / 2)}" cy="${n(y + h / 2)}" r="3" fill="${theme.ink2}"/>`;
}

export function svgOf(g: TokenGraph, scene: Scene, colouring: Colouring, path: PathInScene | null): string {
  const theme = readTheme();
  const lines = scene.lines.map((line, i) => {
    const points = Array.from({ length: line.points.length / 2 }, (_, k) => `${n(line.points[k * 2]!)},${n(line.points[k * 2 + 1]!)}`);
    const critical = path?.lines.has(i);
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${critical ? theme.mark : theme.ink2}" stroke-width="${critical ? 4 : 1}" marker-end="url(#a)"/>`;
  });
  const boxes = scene.items.map((item) => {
    if (item.kind !== "part") return boxSvg(g, item, colouring, theme);
    const fill = colouring.of(item).colour;
    return partSvg(g, scene, item, fill ? css(fill) : theme.ground, fill ? inkOn(fill) : theme.ink, theme);
  });
  const frames = scene.items.flatMap((item, i) => (item.kind === "part" && scene.open[item.part] ? [boxes[i]!] : []));
  const rest = scene.items.flatMap((item, i) => (item.kind === "part" && scene.open[item.part] ? [] : [boxes[i]!]));
  const steps = [...(path?.steps ?? [])].flatMap(([i, step]) => {
    const item = scene.items[i]!;
    if (item.kind === "part" && scene.open[item.part]) return [];
    const words = step.n === 1 ? String(step.first) : `${step.first}–${step.last}`;
    return [
      `<rect x="${n(item.x)}" y="${n(item.y)}" width="${n(item.w)}" height="${n(item.h)}" fill="none" stroke="${theme.mark}" stroke-width="3"/>` +
        `<text x="${n(item.x)}" y="${n(item.y - 3)}" font-size="10" font-weight="600" fill="${theme.mark}">${words}</text>`,
    ];
  });
  const box = `${-MARGIN} ${-MARGIN} ${n(scene.width + 2 * MARGIN)} ${n(scene.height + 2 * MARGIN)}`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="${n(scene.width + 2 * MARGIN)}" height="${n(scene.height + 2 * MARGIN)}" font-family="monospace">` +
    `<title>${escaped(`Graph of token ${g.reply.batch_id ?? "?"}`)}</title>` +
    `<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="${theme.ink2}"/></marker></defs>` +
    `<rect x="${-MARGIN}" y="${-MARGIN}" width="100%" height="100%" fill="${theme.ground}"/>` +
    [...frames, ...lines, ...rest, ...steps].join("\n") +
    "</svg>\n"
  );
}

export function exportSvg(g: TokenGraph, scene: Scene, colouring: Colouring, path: PathInScene | null): void {
  save(new Blob([svgOf(g, scene, colouring, path)], { type: "image/svg+xml" }), fileName(g, "svg"));
}

export async function exportPng(g: TokenGraph, scene: Scene, colouring: Colouring, path: PathInScene | null): Promise<void> {
  const [width, height] = [scene.width + 2 * MARGIN, scene.height + 2 * MARGIN];
  const scale = Math.min(2, PNG_SIDE_MAX / width, PNG_SIDE_MAX / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const c = canvas.getContext("2d");
  if (!c || isDark.value === undefined) return announce("This browser cannot draw the image");
  const none = new Set<number>();
  paint(
    c,
    { g, scene, theme: readTheme(), colouring, path, selected: none, related: none, hits: none, hit: null, cursor: null, hoverItem: null, hoverLine: null, bad: badItems(g, scene) },
    { x: -MARGIN, y: -MARGIN, scale },
    canvas.width,
    canvas.height,
    Infinity,
  );
  const content = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  return content ? save(content, fileName(g, "png")) : announce("The image is too large for this browser; SVG has no limit");
}

// The shown view as a picture: its title, what is selected, the view, and the command that prints the same.

import type { Drawn } from "../draw/canvas";
import { themeColour } from "../draw/colour";
import { plainName } from "../draw/format";
import { pictureOf } from "../draw/picture";
import { SvgContext } from "../draw/svg";
import { selection } from "../state/selection";
import { summary } from "../state/trace";
import { currentView } from "../state/view";
import { selectionWords } from "../state/words";
import { VIEWS } from "../views/all";
import { commandLine } from "./command";

const MARGIN = 12;
const HEAD = 52;
const FOOT = 30;
/** Browsers refuse larger canvases. */
const SIDE_MAX = 16_000;
const PIXELS_MAX = 120e6;
const SHARP = 2;

export function titleWords(): string {
  const view = VIEWS.find((v) => v.id === currentView()) ?? VIEWS[0]!;
  return `${plainName(summary.peek()?.name ?? "trace")}: ${view.title}`;
}

function fitted(c: CanvasRenderingContext2D, text: string, pixels: number): string {
  let shown = text;
  while (shown.length > 1 && c.measureText(shown).width > pixels) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

/** The element alone. */
function bare(root: HTMLElement): Drawn {
  const inside = pictureOf(root);
  const draw = (c: CanvasRenderingContext2D) => {
    c.fillStyle = themeColour("--ground");
    c.fillRect(0, 0, inside.width, inside.height);
    inside.draw(c);
  };
  return { ...inside, draw };
}

/** The element with its head and foot. */
function framed(root: HTMLElement): Drawn {
  const inside = pictureOf(root);
  const width = Math.max(480, inside.width + 2 * MARGIN);
  const height = HEAD + inside.height + FOOT;
  const draw = (c: CanvasRenderingContext2D) => {
    c.fillStyle = themeColour("--ground");
    c.fillRect(0, 0, width, height);
    c.textAlign = "left";
    c.textBaseline = "middle";
    const line = (text: string, y: number, font: string, ink: string) => {
      c.font = font;
      c.fillStyle = themeColour(ink);
      c.fillText(fitted(c, text, width - 2 * MARGIN), MARGIN, y);
    };
    line(titleWords(), 17, "600 15px system-ui, sans-serif", "--ink");
    line(selectionWords(selection.peek()), 37, "12px system-ui, sans-serif", "--ink-2");
    line(commandLine(), height - FOOT / 2, "11px ui-monospace, monospace", "--ink-2");
    c.save();
    c.translate(MARGIN, HEAD);
    c.beginPath();
    c.rect(0, 0, inside.width, inside.height);
    c.clip();
    inside.draw(c);
    c.restore();
  };
  return { width, height, draw };
}

function shownView(): HTMLElement {
  return document.getElementById("main")!;
}

/** titled: with the trace's name above and the command below. */
export function viewSvg(titled = true): string {
  const { width, height, draw } = (titled ? framed : bare)(shownView());
  const svg = new SvgContext();
  draw(svg.asContext);
  return svg.document(width, height, `${titleWords()}. ${selectionWords(selection.peek())}`);
}

/** Twice the screen's resolution; null: too large for the browser. */
export async function viewPng(): Promise<Blob | null> {
  const { width, height, draw } = framed(shownView());
  const ratio = Math.min(SHARP, SIDE_MAX / width, SIDE_MAX / height, Math.sqrt(PIXELS_MAX / (width * height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d", { willReadFrequently: true });
  if (!c) return null;
  c.scale(ratio, ratio);
  draw(c);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// A copy of a part of the page without what only works in the page: headings, texts, lists, tables, small plots.

import { render } from "preact";
import { drawnOf } from "../draw/plot";
import { SvgContext } from "../draw/svg";
import { counted } from "../draw/format";
import { gridOf, type Grid } from "../parts/grids";

const KEPT = new Set(
  "H1 H2 H3 H4 P DL DT DD UL OL LI TABLE CAPTION THEAD TBODY TFOOT TR TH TD STRONG B EM I CODE SPAN DIV SECTION SMALL KBD BR".split(" "),
);
const LEFT_OUT = "button:not(.link), input, select, textarea, label, [role=toolbar], [role=separator], [role=search], dialog, script, style, svg, .sr-only:not(caption), .tooltip, .no-picture";
const KEPT_ATTRIBUTES = ["colspan", "rowspan", "scope"];
/** More are for the log's own export. */
export const ROWS_MAX = 1000;

/** A drawing made with the page's own functions: markup, but no text of a trace in it is. */
export function svgElement(markup: string): SVGElement {
  return new DOMParser().parseFromString(markup, "image/svg+xml").documentElement as unknown as SVGElement;
}

function drawingElement(canvas: HTMLCanvasElement): Element | null {
  const drawn = drawnOf(canvas);
  if (!drawn) return null;
  const svg = new SvgContext();
  drawn.draw(svg.asContext);
  return svgElement(svg.document(drawn.width, drawn.height, canvas.getAttribute("aria-label") ?? ""));
}

/** Without the rows that have not been asked for yet. */
function gridTable(grid: Grid): HTMLElement {
  const table = document.createElement("table");
  const caption = table.createCaption();
  const head = table.createTHead().insertRow();
  for (const column of grid.columns) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.className = column.number ? "number" : "";
    cell.textContent = column.title;
    head.append(cell);
  }
  const body = table.createTBody();
  let n = 0;
  for (let i = 0; i < grid.count && n < ROWS_MAX; i++) {
    const cells = grid.cells(i);
    if (!cells) continue;
    const row = body.insertRow();
    cells.forEach((content, k) => {
      const cell = row.insertCell();
      cell.className = grid.columns[k]!.number ? "number" : "";
      const held = document.createElement("div");
      render(content, held);
      appendCopies(held, cell);
      render(null, held);
    });
    n++;
  }
  caption.textContent = n < grid.count ? `${grid.label}: ${counted(n, "row")} of ${counted(grid.count, "row")}` : `${grid.label}: ${counted(n, "row")}`;
  return table;
}

function appendCopies(from: Element, to: Element): void {
  for (const child of from.childNodes) {
    if (child instanceof Text) to.append(child.data);
    else if (child instanceof Element) appendCopy(child, to);
  }
}

function appendCopy(element: Element, to: Element): void {
  if (element.matches(LEFT_OUT)) return;
  const grid = element.getAttribute("role") === "grid" ? gridOf(element) : null;
  if (grid) {
    if (grid.count > 0) to.append(gridTable(grid));
    return;
  }
  if (element instanceof HTMLCanvasElement) {
    const drawing = drawingElement(element);
    if (drawing) to.append(drawing);
    return;
  }
  if (!KEPT.has(element.tagName)) {
    appendCopies(element, to);
    return;
  }
  const copy = document.createElement(element.tagName);
  for (const name of KEPT_ATTRIBUTES) if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name)!);
  for (const name of ["number", "mono"]) if (element.classList.contains(name)) copy.classList.add(name);
  appendCopies(element, copy);
  if (copy.childNodes.length > 0 || copy.tagName === "TD" || copy.tagName === "TH" || copy.tagName === "BR") to.append(copy);
}

/** The element's content, copied. */
export function plainCopy(element: Element): HTMLElement {
  const copy = document.createElement("div");
  appendCopies(element, copy);
  return copy;
}

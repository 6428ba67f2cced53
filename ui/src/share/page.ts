// What is shown as a page of its own, without scripts: to be saved, or to be printed.

import { isDark, themeColour } from "../draw/colour";
import { selection } from "../state/selection";
import { summary } from "../state/trace";
import { selectionWords } from "../state/words";
import { commandLine } from "./command";
import { plainCopy, svgElement } from "./plain";
import { titleWords, viewSvg } from "./viewPicture";

/** The page allows itself nothing but its own sheet and the tiles of patterns. */
const RULES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function picture(titled: boolean): HTMLElement {
  const figure = document.createElement("figure");
  const svg = svgElement(viewSvg(titled));
  svg.setAttribute("role", "img");
  figure.append(svg);
  return figure;
}

/** What the inspector says. */
function inspected(): HTMLElement | null {
  const inspector = document.querySelector("aside");
  const copy = inspector && plainCopy(inspector);
  if (!copy?.textContent?.trim()) return null;
  const section = document.createElement("section");
  section.className = "facts";
  section.append(copy);
  return section;
}

/** The view's tables, those beside its plots and those that it shows. */
function tables(): HTMLElement[] {
  const view = document.getElementById("main")!;
  const copy = plainCopy(view);
  return [...copy.querySelectorAll("table")].filter((table) => table.rows.length > 1).map((table) => {
    const held = document.createElement("div");
    held.className = "table";
    held.append(table);
    return held;
  });
}

/** For printing: the picture, and what the inspector says about it. */
export function printedContent(): HTMLElement[] {
  const facts = inspected();
  return [picture(true), ...(facts ? [facts] : [])];
}

function styles(): string {
  const colour = (name: string) => themeColour(name);
  return `
:root { color-scheme: ${isDark.peek() ? "dark" : "light"}; }
body { background: ${colour("--ground")}; color: ${colour("--ink")}; font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1280px; padding: 12px; }
h1 { font-size: 20px; margin: 0; } h2 { font-size: 16px; margin: 18px 0 6px; } h3 { font-size: 14px; margin: 10px 0 4px; }
p { margin: 4px 0; } figure { margin: 12px 0; overflow-x: auto; } figure svg { height: auto; max-width: 100%; min-width: 700px; }
code, .mono { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.quiet, footer, caption { color: ${colour("--ink-2")}; }
dl { display: grid; gap: 2px 14px; grid-template-columns: max-content 1fr; margin: 4px 0; } dl div { display: contents; } dd { margin: 0; overflow-wrap: anywhere; }
.table { margin: 12px 0; max-height: 70vh; overflow: auto; } table { border-collapse: collapse; } caption { padding: 4px 8px; text-align: left; }
th, td { border-bottom: 1px solid ${colour("--line")}; padding: 2px 8px; text-align: left; vertical-align: top; }
thead th { background: ${colour("--ground-2")}; position: sticky; top: 0; } .number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
footer { border-top: 1px solid ${colour("--line")}; margin-top: 18px; padding-top: 6px; }
@media print { body { max-width: none; } .table { max-height: none; overflow: visible; } }`;
}

/** The whole document; it opens without a server, and asks nobody for anything. */
export function savedPage(version: string): string {
  const page = document.implementation.createHTMLDocument(titleWords());
  page.documentElement.lang = "en";
  const meta = (attributes: Record<string, string>) => {
    const made = page.createElement("meta");
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  page.head.prepend(
    meta({ charset: "utf-8" }),
    meta({ "http-equiv": "Content-Security-Policy", content: RULES }),
    meta({ name: "viewport", content: "width=device-width, initial-scale=1" }),
  );
  const command = element("p", "The same in a terminal: ");
  command.append(element("code", commandLine()));
  const facts = inspected();
  const shown = tables();
  page.body.append(element("h1", titleWords()), element("p", selectionWords(selection.peek())), picture(false));
  if (facts) page.body.append(facts);
  if (shown.length > 0) page.body.append(element("h2", "The figures"), ...shown);
  const s = summary.peek();
  const footer = document.createElement("footer");
  footer.append(command, element("p", `${s?.model_files[0]?.name ?? "The model is not known"}, run ${s?.run_id ?? "?"}. Saved by tensortrace ${version}.`));
  page.body.append(footer);
  // As text: this page's own rules, which a document made here has, too, allow no sheet in it. Nothing before the
  // end of the head comes from the trace unescaped.
  const html = page.documentElement.outerHTML.replace("</head>", () => `<style>${styles()}</style></head>`);
  return `<!doctype html>\n${html}\n`;
}

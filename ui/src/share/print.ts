// Prints the view: in light colours, without the page's controls, the picture as large as a sheet allows.

import { isDark, isPrinting } from "../draw/colour";
import { printedContent } from "./page";

/** Frames in which what follows the colours is drawn again. */
const FRAMES = 4;

function nextFrame(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => done());
  });
}

/** What is printed instead of the page (style.css). */
function sheet(): HTMLElement {
  document.getElementById("sheet")?.remove();
  const made = document.createElement("div");
  made.id = "sheet";
  made.classList.toggle("dark", isDark.peek());
  made.append(...printedContent());
  document.body.append(made);
  return made;
}

let underWay = false;

export async function printView(): Promise<void> {
  if (underWay) return;
  underWay = true;
  isPrinting.value = true;
  try {
    for (let i = 0; i < FRAMES; i++) await nextFrame();
    sheet();
    window.print();
  } finally {
    isPrinting.value = false;
    underWay = false;
  }
}

/** The browser's own command waits for nobody: what is shown is printed, dark colours inverted. */
export function followPrinting(): void {
  addEventListener("beforeprint", () => {
    if (!underWay && document.getElementById("main")) sheet();
  });
  addEventListener("afterprint", () => document.getElementById("sheet")?.remove());
}

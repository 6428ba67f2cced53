// Saves what is shown as files.

import { announce } from "../parts/announce";
import { saveFile } from "../parts/saveFile";
import { index } from "../state/trace";
import { fileName } from "./fileName";
import { savedPage } from "./page";
import { viewPng, viewSvg } from "./viewPicture";

export async function savePng(): Promise<void> {
  const blob = await viewPng();
  if (!blob) return announce("The picture is too large for this browser; SVG has no limit");
  saveFile(blob, fileName("png"));
  return announce(`Saved ${fileName("png")}`);
}

export function saveSvg(): void {
  saveFile(new Blob([viewSvg()], { type: "image/svg+xml" }), fileName("svg"));
  announce(`Saved ${fileName("svg")}`);
}

export function savePage(): void {
  saveFile(new Blob([savedPage(index.peek()?.version ?? "")], { type: "text/html" }), fileName("html"));
  announce(`Saved ${fileName("html")}`);
}

// Sharing what is shown: loaded when somebody asks for it.

import { announce } from "../parts/announce";
import { saveFile } from "../parts/saveFile";
import { fileName } from "./fileName";
import { viewPng, viewSvg } from "./viewPicture";

export { commandLine } from "./command";

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

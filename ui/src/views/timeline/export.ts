// The timeline as a file: what is in sight, as a picture or as a drawing.

import { themeColour } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { summary } from "../../state/trace";
import { windowInWords } from "./actions";
import { layout } from "./rows";
import type { Scene } from "./scene";
import { SvgInk } from "./svg";
import { timeAxis } from "./window";

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(extension: string): string {
  const name = (summary.peek()?.name ?? "trace").replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80);
  return `${name}-timeline.${extension}`;
}

function drawing(scene: Scene): Blob {
  const ink = new SvgInk();
  const range = timeAxis.range.peek();
  const size = scene.size.peek();
  ink.items(scene.items(range, layout.peek()), range, size);
  scene.annotate(ink, range, layout.peek(), null);
  const title = `${summary.peek()?.name ?? "trace"}: the timeline ${windowInWords()}`;
  return new Blob([ink.document(size, themeColour("--ground"), title)], { type: "image/svg+xml" });
}

export async function exportPicture(scene: Scene, form: "png" | "svg"): Promise<void> {
  const blob =
    form === "svg"
      ? drawing(scene)
      : await new Promise<Blob | null>((done) => scene.picture(themeColour("--ground")).toBlob(done, "image/png"));
  if (!blob) {
    announce("The picture could not be made: it is too large for the browser");
    return;
  }
  save(blob, fileName(form));
  announce(`Saved ${fileName(form)}`);
}

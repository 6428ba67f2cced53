// What the dialog "Share" offers.

import { useComputed } from "@preact/signals";
import { copyWords } from "../parts/clipboard";
import { shareOpen } from "../shell/Share";
import { commandLine } from "./command";
import { savePage, savePng, saveSvg } from "./files";
import { printView } from "./print";

/** Closed first: no picture shows the dialog. */
function andClose(run: () => unknown): () => void {
  return () => {
    shareOpen.value = false;
    void run();
  };
}

export function Choices() {
  const command = useComputed(commandLine);
  return (
    <dl class="share">
      <dt>Link</dt>
      <dd>
        <button type="button" onClick={() => copyWords(location.href, "Link")}>Copy link</button>
        <p>Opens the same in this browser while `tensortrace serve` runs.</p>
      </dd>
      <dt>Command</dt>
      <dd>
        <button type="button" onClick={() => copyWords(command.value, "Command")}>Copy command</button>
        <code>{command.value}</code>
      </dd>
      <dt>Picture</dt>
      <dd>
        <button type="button" onClick={andClose(savePng)}>PNG</button>
        <button type="button" onClick={andClose(saveSvg)}>SVG</button>
        <p>With title, selection and legend; PNG at twice the screen's resolution.</p>
      </dd>
      <dt>Page</dt>
      <dd>
        <button type="button" onClick={andClose(savePage)}>Save as page</button>
        <button type="button" onClick={andClose(printView)}>Print</button>
        <p>One file with picture, inspector and tables, which opens without a server.</p>
      </dd>
    </dl>
  );
}

// "Share": the link, the command that prints the same, pictures, a page of its own, printing.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bind } from "../input/keys";
import { announce } from "../parts/announce";
import { copyWords } from "../parts/clipboard";
import { Lazy } from "../parts/Lazy";
import { summary } from "../state/trace";
import { Dialog } from "./Dialog";
import "./share.css";

type Sharing = typeof import("../share");

export const shareOpen = signal(false);

/** The code is loaded when it is first used. */
async function sharing(run: (s: Sharing) => unknown): Promise<void> {
  try {
    await run(await import("../share"));
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
}

function useCommands(): void {
  useEffect(() => {
    const scope = "Everywhere";
    const when = () => summary.peek() !== null;
    return bind(
      { id: "share.open", keys: ["Ctrl+KeyS"], title: "Share: link, command, picture, page", scope, when, run: () => (shareOpen.value = true) },
      { id: "link.copy", keys: [], title: "Copy the link to what is shown", scope, run: () => copyWords(location.href, "Link") },
      { id: "share.command", keys: [], title: "Copy the command that prints what is shown", scope, when, run: () => void sharing((s) => copyWords(s.commandLine(), "Command")) },
      { id: "share.png", keys: [], title: "Save the view as PNG", scope, when, run: () => void sharing((s) => s.savePng()) },
      { id: "share.svg", keys: [], title: "Save the view as SVG", scope, when, run: () => void sharing((s) => s.saveSvg()) },
      { id: "share.page", keys: [], title: "Save the view as a page that opens without a server", scope, when, run: () => void sharing((s) => s.savePage()) },
      { id: "share.print", keys: ["Ctrl+KeyP"], title: "Print the view", scope, when, run: () => void sharing((s) => s.printView()) },
    );
  }, []);
}

export function Share() {
  useCommands();
  return (
    <button type="button" title="Link, command, picture or page of what is shown (Ctrl+S)" disabled={!summary.value} onClick={() => (shareOpen.value = true)}>
      Share
    </button>
  );
}

export function ShareDialog() {
  return (
    <Dialog open={shareOpen} label="Share">
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>Share what is shown</h2>
          <button type="button" onClick={() => (shareOpen.value = false)}>
            Close <kbd>Esc</kbd>
          </button>
        </div>
        <Lazy what="what can be shared" load={async () => (await import("../share")).Choices} with={{}} />
      </div>
    </Dialog>
  );
}

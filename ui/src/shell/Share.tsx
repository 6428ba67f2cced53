// "Share": the link, the command that prints the same, pictures, a page of its own, printing.

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bind } from "../input/keys";
import { announce } from "../parts/announce";
import { summary } from "../state/trace";
import { Dialog } from "./Dialog";
import "./share.css";

type Sharing = typeof import("../share");

const open = signal(false);

/** The code is loaded when it is first used. */
async function sharing(run: (s: Sharing) => unknown): Promise<void> {
  try {
    await run(await import("../share"));
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
}

function copy(text: string, what: string): void {
  navigator.clipboard.writeText(text).then(
    () => announce(`${what} copied`),
    () => announce("The browser did not allow copying"),
  );
}

/** Closed first: no picture shows the dialog. */
function andClose(run: (s: Sharing) => unknown): () => void {
  return () => {
    open.value = false;
    void sharing(run);
  };
}

function Content() {
  const command = useSignal("");
  useEffect(() => {
    void sharing((s) => {
      command.value = s.commandLine();
    });
  }, []);
  return (
    <div class="dialog-body">
      <div class="dialog-head">
        <h2>Share what is shown</h2>
        <button type="button" onClick={() => (open.value = false)}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <dl class="share">
        <dt>Link</dt>
        <dd>
          <button type="button" onClick={() => copy(location.href, "Link")}>Copy link</button>
          <p>Opens the same in this browser while `tensortrace serve` runs.</p>
        </dd>
        <dt>Command</dt>
        <dd>
          <button type="button" disabled={!command.value} onClick={() => copy(command.value, "Command")}>Copy command</button>
          <code>{command.value}</code>
        </dd>
        <dt>Picture</dt>
        <dd>
          <button type="button" onClick={andClose((s) => s.savePng())}>PNG</button>
          <button type="button" onClick={andClose((s) => s.saveSvg())}>SVG</button>
          <p>With title, selection and legend; PNG at twice the screen's resolution.</p>
        </dd>
        <dt>Page</dt>
        <dd>
          <button type="button" onClick={andClose((s) => s.savePage())}>Save as page</button>
          <button type="button" onClick={andClose((s) => s.printView())}>Print</button>
          <p>One file with picture, inspector and tables, which opens without a server.</p>
        </dd>
      </dl>
    </div>
  );
}

function useCommands(): void {
  useEffect(() => {
    const scope = "Everywhere";
    const when = () => summary.peek() !== null;
    return bind(
      { id: "share.open", keys: ["Ctrl+KeyS"], title: "Share: link, command, picture, page", scope, when, run: () => (open.value = true) },
      { id: "link.copy", keys: [], title: "Copy the link to what is shown", scope, run: () => copy(location.href, "Link") },
      { id: "share.command", keys: [], title: "Copy the command that prints what is shown", scope, when, run: () => void sharing((s) => copy(s.commandLine(), "Command")) },
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
    <button type="button" title="Link, command, picture or page of what is shown (Ctrl+S)" disabled={!summary.value} onClick={() => (open.value = true)}>
      Share
    </button>
  );
}

export function ShareDialog() {
  return (
    <Dialog open={open} label="Share">
      <Content />
    </Dialog>
  );
}

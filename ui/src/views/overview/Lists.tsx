// Findings, the tensors that took most of the time, and what was not recorded.

import { bytes, duration, percent, plainName } from "../../draw/format";
import { copyWords } from "../../parts/clipboard";
import { Units } from "../../parts/Units";
import { traceState } from "../../state/live";
import { select } from "../../state/selection";
import { summary } from "../../state/trace";
import type { Finding, Overview } from "./answer";
import { shellWord, wordsOf } from "../../share/command";
import { follow, leadsSomewhere, titleOf } from "./go";

const SEVERITIES: Record<Finding["severity"], string> = { error: "Error", warning: "Warning", note: "Note" };

function FindingRow(props: { finding: Finding }) {
  const f = props.finding;
  const text = plainName(f.text);
  return (
    <li class={`finding finding-${f.severity}`}>
      <span class="severity">{SEVERITIES[f.severity] ?? f.severity}</span>
      {leadsSomewhere(f) ? (
        <button type="button" class="link" onClick={() => follow(f)}>
          <Units>{text}</Units>
          {f.view !== null && <span class="to"> {titleOf(f.view)}&nbsp;›</span>}
        </button>
      ) : (
        <span>
          <Units>{text}</Units>
        </span>
      )}
    </li>
  );
}

export function Findings(props: { answer: Overview }) {
  // What is still recorded is not whole, and that is no flaw.
  const findings = props.answer.findings.filter((f) => f.kind !== "cut" || traceState.value?.state !== "live");
  return (
    <section class="findings" aria-label="Findings">
      <h3>Findings</h3>
      {findings.length > 0 ? (
        <ul tabIndex={0} aria-label="Findings, the most severe first">
          {findings.map((f, i) => (
            <FindingRow key={i} finding={f} />
          ))}
        </ul>
      ) : (
        <p>Nothing unusual was found.</p>
      )}
    </section>
  );
}

export function Tensors(props: { answer: Overview }) {
  const { tensors } = props.answer;
  if (tensors.length === 0) return null;
  return (
    <section class="top-tensors" aria-label="Tensors whose ops took most of the time">
      <h3>Tensors whose ops took most of the time</h3>
      <table>
        <thead>
          <tr>
            <th scope="col">Tensor</th>
            <th scope="col" class="number" title="Share of the time of all ops">
              Share
            </th>
            <th scope="col" class="number" title="Of the ops that read it, with what their threads waited for a disk">
              Time
            </th>
            <th scope="col" class="number">
              Work
            </th>
            <th scope="col" class="number">
              Read
            </th>
            <th scope="col" class="number">
              Size
            </th>
          </tr>
        </thead>
        <tbody>
          {tensors.map((t) => (
            <tr key={t.tensor}>
              <th scope="row">
                <button type="button" class="link mono" onClick={() => select({ tensor: t.tensor, op: null, region: null })}>
                  {plainName(t.tensor)}
                </button>
              </th>
              <td class="number">{percent(t.share)}</td>
              <td class="number">{duration(t.time_ns)}</td>
              <td class="number">{duration(t.work_ns)}</td>
              <td class="number">{bytes(t.read_bytes)}</td>
              <td class="number">{bytes(t.size_bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What a trace may lack, and the option of `run` that records it. */
const OPTIONS = ["--faults=both", "--residency", "--values=stats"] as const;

/** "moe-2.ttrace": `run` does not replace a trace. */
function otherName(name: string): string {
  return shellWord(name.replace(/(\.ttrace)?$/, "-2.ttrace"));
}

/** Records the same run again with these options, and with those that this one had. */
function commandOf(answer: Overview, options: readonly string[]): string {
  const lacking = answer.not_recorded.map((m) => m.option);
  const had = OPTIONS.filter((o) => !lacking.includes(o) && !options.includes(o));
  // An option is a word; "without --no-text" says to leave one out.
  const words = [...had, ...options].filter((o) => o.startsWith("--"));
  const program = wordsOf(answer.again ?? "...").map(shellWord);
  return ["tensortrace run", ...words, "-o", otherName(summary.value?.name ?? "FILE"), ...program].join(" ");
}

export function NotRecorded(props: { answer: Overview }) {
  const { not_recorded: missing } = props.answer;
  const copyCommand = (list: readonly string[]) => copyWords(commandOf(props.answer, list), "Command");
  if (missing.length === 0) return null;
  const options = [...new Set(missing.flatMap((m) => (m.option === null ? [] : [m.option])))];
  return (
    <footer class="missing" aria-label="Not recorded">
      <h3>Not recorded</h3>
      <ul>
        {missing.map((m) => (
          <li key={m.what} title={m.text}>
            {m.what}
            {m.option !== null && (
              <>
                {" "}
                <button type="button" class="option" title={`Copy: ${commandOf(props.answer, [m.option])}`} onClick={() => copyCommand([m.option!])}>
                  <code>{m.option}</code>
                </button>
              </>
            )}
            <span class="sr-only">. {m.text}</span>
          </li>
        ))}
        {options.length > 1 && (
          <li>
            <button type="button" title={`Copy: ${commandOf(props.answer, options)}`} onClick={() => copyCommand(options)}>
              Copy the command with all
            </button>
          </li>
        )}
      </ul>
    </footer>
  );
}

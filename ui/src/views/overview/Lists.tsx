// Findings, the tensors that took most of the time, and what was not recorded.

import { bytes, duration, percent, plainName } from "../../draw/format";
import { copyWords } from "../../parts/clipboard";
import { select } from "../../state/selection";
import { summary } from "../../state/trace";
import type { Finding, Missing, Overview } from "./answer";
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
          {text}
          {f.view !== null && <span class="to"> {titleOf(f.view)}&nbsp;›</span>}
        </button>
      ) : (
        <span>{text}</span>
      )}
    </li>
  );
}

export function Findings(props: { answer: Overview }) {
  const { findings } = props.answer;
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
    <section class="top-tensors" aria-label="Tensors that took most of the time">
      <h3>Tensors that took most of the time</h3>
      <table>
        <thead>
          <tr>
            <th scope="col">Tensor</th>
            <th scope="col" class="number" title="Share of the ops' work">
              Share
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

/** Records the run again with these options. */
function commandOf(options: readonly string[]): string {
  return `tensortrace run ${options.join(" ")} -o ${summary.value?.name ?? "FILE"} ...`;
}

function copyCommand(options: readonly string[]): void {
  const command = commandOf(options);
  copyWords(command, "Command");
}

export function NotRecorded(props: { missing: readonly Missing[] }) {
  const { missing } = props;
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
                <button type="button" class="option" title={`Copy: ${commandOf([m.option])}`} onClick={() => copyCommand([m.option!])}>
                  <code>{m.option}</code>
                </button>
              </>
            )}
            <span class="sr-only">. {m.text}</span>
          </li>
        ))}
        {options.length > 1 && (
          <li>
            <button type="button" title={`Copy: ${commandOf(options)}`} onClick={() => copyCommand(options)}>
              Copy all
            </button>
          </li>
        )}
      </ul>
    </footer>
  );
}

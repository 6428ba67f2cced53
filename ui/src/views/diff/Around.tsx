// Differences of graphs, settings, buffers, faults and experts.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { bytes, count, percent, plainName } from "../../draw/format";
import { layerWords } from "../../state/layers";
import type { Change, Diff, Phase, Structure } from "./answer";
import { NOT_OBSERVED, PHASES } from "./words";

const KINDS: Record<Change["kind"], string> = { added: "new in B", removed: "missing in B", changed: "differs" };
const SHOWN = 40;

function Section(props: { title: string; children: ComponentChildren }) {
  return (
    <section class="diff-section" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

function ChangeRows(props: { changes: readonly Change[]; choose: (layer: number | null) => void }) {
  return (
    <tbody>
      {props.changes.map((c, i) => (
        <tr key={i}>
          <td class={`diff-${c.kind}`}>{KINDS[c.kind]}</td>
          <td>{plainName(c.name_a ?? c.name_b ?? "")}</td>
          <td>
            {c.layer_id === null ? (
              "no layer"
            ) : (
              <button type="button" class="diff-link" onClick={() => props.choose(c.layer_id)}>
                {layerWords(c.layer_id)}
              </button>
            )}
          </td>
          <td>{c.computed_by_a ?? ""}</td>
          <td>{c.computed_by_b ?? ""}</td>
          <td>{plainName(c.text)}</td>
        </tr>
      ))}
    </tbody>
  );
}

function Changes(props: { phase: Phase; choose: (layer: number | null) => void }) {
  const s: Structure = props.phase.structure;
  const [shown, setShown] = useState(SHOWN);
  const total = s.added + s.removed + s.changed;
  if (total === 0) return null;
  return (
    <>
      <h3>
        {PHASES[props.phase.phase]}: {count(s.added)} new, {count(s.removed)} gone, {count(s.changed)} differ,{" "}
        {count(s.common)} common
      </h3>
      <div class="diff-scroll" tabIndex={0} role="group" aria-label="Table">
        <table>
          <thead>
            <tr>
              <th>What</th>
              <th>Node</th>
              <th>Layer</th>
              <th>Computed in A by</th>
              <th>in B by</th>
              <th>Difference</th>
            </tr>
          </thead>
          <ChangeRows changes={s.changes.slice(0, shown)} choose={props.choose} />
        </table>
      </div>
      {shown < s.changes.length && (
        <button type="button" onClick={() => setShown(shown + 400)}>
          Show {count(Math.min(400, s.changes.length - shown))} of {count(s.changes.length - shown)} more
        </button>
      )}
      {s.more && <p>{count(s.changes.length)} of {count(total)} are listed.</p>}
    </>
  );
}

/** Nodes that are new, missing or different. */
export function StructureChanges(props: { diff: Diff; choose: (layer: number | null) => void }) {
  return (
    <Section title="What was computed">
      <p>{props.diff.verdict.structure_text}.</p>
      {props.diff.phases.map((phase) => (
        <Changes phase={phase} choose={props.choose} key={phase.phase} />
      ))}
    </Section>
  );
}

function Settings(props: { diff: Diff }) {
  const { settings } = props.diff;
  return (
    <Section title="Settings that differ">
      {settings.length === 0 ? (
        <p>None of the recorded settings.</p>
      ) : (
        <div class="diff-scroll" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                <th>Setting</th>
                <th>A</th>
                <th>B</th>
              </tr>
            </thead>
            <tbody>
              {settings.map((s) => (
                <tr key={s.setting}>
                  <td>{plainName(s.setting)}</td>
                  <td class="diff-wrap">{plainName(s.a ?? "not recorded")}</td>
                  <td class="diff-wrap">{plainName(s.b ?? "not recorded")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}

function Figures(props: { head: string[]; rows: (string | number)[][] }) {
  return (
    <div class="diff-scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {props.head.map((title, i) => (
              <th class={i ? "number" : ""} key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((cells, r) => (
            <tr key={r}>
              {cells.map((cell, i) => (
                <td class={i ? "number" : ""} key={i}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Buffers(props: { diff: Diff }) {
  return (
    <Section title="Buffers, by content">
      <Figures
        head={["Buffers", "A", "B", "A: count", "B: count"]}
        rows={props.diff.buffers.map((b) => [b.kind, bytes(b.size_bytes_a), bytes(b.size_bytes_b), b.count_a, b.count_b])}
      />
    </Section>
  );
}

function Faults(props: { diff: Diff }) {
  const { faults } = props.diff;
  if (!faults)
    return (
      <Section title="Page faults">
        <p>Not compared: they were not observed in both. `tensortrace run --faults` records them.</p>
      </Section>
    );
  return (
    <Section title="Page faults">
      <Figures
        head={["Layer", "A: minor", "B: minor", "A: major", "B: major", "A: read", "B: read"]}
        rows={faults.map((f) => [
          f.all ? "all" : layerWords(f.layer_id),
          count(f.minor_a),
          count(f.minor_b),
          count(f.major_a),
          count(f.major_b),
          bytes(f.read_bytes_a),
          bytes(f.read_bytes_b),
        ])}
      />
    </Section>
  );
}

function Routing(props: { diff: Diff }) {
  const { routing } = props.diff;
  if (routing.length === 0) return null;
  return (
    <Section title="Chosen experts">
      <p>Divergence: Jensen-Shannon, of the shares of choices, 0 (equal) to 1 bit. Jaccard: of the sets of chosen experts.</p>
      <Figures
        head={["Layer", "A: tokens", "B: tokens", "A: experts", "B: experts", "Divergence", "Jaccard"]}
        rows={routing.map((r) => [
          layerWords(r.layer_id),
          count(r.n_tokens_a),
          count(r.n_tokens_b),
          count(r.experts_a),
          count(r.experts_b),
          r.divergence_bits === null ? NOT_OBSERVED : `${r.divergence_bits.toFixed(4)} bit`,
          r.jaccard === null ? NOT_OBSERVED : r.jaccard.toFixed(3),
        ])}
      />
    </Section>
  );
}

function Notes(props: { diff: Diff }) {
  const { diff } = props;
  return (
    <Section title="Legend">
      <ul>
        {diff.notes.map((note) => (
          <li key={note}>{plainName(note)}</li>
        ))}
        <li>! yes: significant, and changes a token's time by more than {percent(diff.threshold)}</li>
        <li>* yes: significant, but not by more than that share of a token's time</li>
        <li>no: tested, and noise alone could look like this; that is not the same as equal</li>
        <li>not tested: on one side only, or too few tokens</li>
      </ul>
    </Section>
  );
}

export function Around(props: { diff: Diff }) {
  return (
    <>
      <div class="diff-columns">
        <Settings diff={props.diff} />
        <Buffers diff={props.diff} />
      </div>
      <Faults diff={props.diff} />
      <Routing diff={props.diff} />
      <Notes diff={props.diff} />
    </>
  );
}

// Problems of the server or the trace, above everything.

import { signal } from "@preact/signals";
import { serverReachable } from "../api/client";
import { counted, duration, plainName } from "../draw/format";
import { copyWords } from "../parts/clipboard";
import { badOutputs } from "../state/bad";
import { layerWords } from "../state/layers";
import { following, tryAgain } from "../state/live";
import { select } from "../state/selection";
import { summary, traceError } from "../state/trace";
import { currentView, showView } from "../state/view";
import "./banner.css";

/** The trace whose damage message was dismissed. */
const dismissed = signal<string | null>(null);
const notFiniteHidden = signal<string | null>(null);

function Gone() {
  return (
    <div class="banner bad" role="alert">
      <p>
        <b>The server has stopped.</b> Data that was already loaded is still shown, but nothing else can be read. Start{" "}
        <code>tensortrace serve</code> again and open the address it prints; to come back to this place, put what is
        behind the # in this page's address behind that one.
      </p>
      <button type="button" onClick={() => copyWords(location.hash, "Address")}>
        Copy the address
      </button>
      <button type="button" onClick={() => void tryAgain()}>
        Try again
      </button>
    </div>
  );
}

/** Of a trace that was shown and could not be read again. */
function Stale(props: { error: Error }) {
  return (
    <div class="banner bad" role="alert">
      <p>
        <b>The trace could not be read again:</b> {props.error.message}
      </p>
      <button type="button" onClick={() => void tryAgain()}>
        Try again
      </button>
    </div>
  );
}

function Growing() {
  const s = summary.value!;
  return (
    <section class="banner" aria-label="Still recording">
      <p>
        <span class="dot" aria-hidden="true" /> <b>Still recording:</b> {counted(s.batches.batch_id.length, "token")},{" "}
        {duration(s.end_relative_ns - s.start_relative_ns)} so far. The page updates automatically.
      </p>
      <button type="button" aria-pressed={following.value} onClick={() => (following.value = !following.value)}>
        Follow the newest token
      </button>
    </section>
  );
}

function Damaged() {
  const s = summary.value!;
  const [first, ...others] = s.problems;
  return (
    <section class="banner" aria-label="What is wrong with the trace">
      <div class="words">
        <b>This trace is not whole:</b> {plainName(first!)}. What is shown is what could be read;{" "}
        <code>tensortrace verify</code> checks all of it.
        {others.length > 0 && (
          <details>
            <summary>{counted(others.length, "more problem")}</summary>
            <ul>
              {others.map((each, i) => (
                <li key={i}>{plainName(each)}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
      <button type="button" onClick={() => (dismissed.value = s.run_id)}>
        Hide
      </button>
    </section>
  );
}

/** The view Values says more than this. */
function NotFinite() {
  const bad = badOutputs.value;
  if (!bad || currentView() === "values" || notFiniteHidden.value === summary.value?.run_id) return null;
  const { token, layer } = bad.first;
  const place = [token !== null && `token ${token}`, layer !== null && layerWords(layer)].filter(Boolean).join(", ");
  const show = () => {
    select({ token, layer, op: { run: bad.run[0]!, node: bad.op[0]! }, tensor: null, region: null, time: null });
    showView("values");
  };
  return (
    <section class="banner bad" aria-label="NaN or Inf in outputs">
      <p>
        <b>
          {counted(bad.total, "output")} of ops {bad.total === 1 ? "has" : "have"} NaN or Inf
        </b>
        {place && `, the first in ${place}`}.
      </p>
      <button type="button" onClick={show}>
        Show where it begins
      </button>
      <button type="button" onClick={() => (notFiniteHidden.value = summary.value?.run_id ?? null)}>
        Hide
      </button>
    </section>
  );
}

/** Shown when the server does not answer, when the trace is damaged or still growing, and when outputs are not finite. */
export function Banner() {
  return (
    <>
      <OfTrace />
      <NotFinite />
    </>
  );
}

function OfTrace() {
  const s = summary.value;
  if (!serverReachable.value) return s && <Gone />;
  if (traceError.value && s) return <Stale error={traceError.value} />;
  if (!s) return null;
  if (s.growing) return <Growing />;
  if (s.problems.length > 0 && dismissed.value !== s.run_id) return <Damaged />;
  return null;
}

// Why there is nothing to show where ops would be: what was read all the same, and what to do.

import { counted, plainName } from "../draw/format";
import { summary } from "../state/trace";
import { Empty } from "./messages";

/** "16 batches, 2 graphs and 57,749 details"; "": nothing at all. */
function found(): string {
  const s = summary.value!;
  const { batches, graphs, buffers, details } = s.counts;
  const parts = [
    batches > 0 && counted(batches, "batch", "batches"),
    graphs > 0 && counted(graphs, "graph"),
    buffers > 0 && counted(buffers, "buffer"),
    details > 0 && counted(details, "detail"),
  ].filter((part) => part !== false);
  return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : (parts[0] ?? "");
}

export function NoOps() {
  const s = summary.value!;
  const rest = found();
  const name = plainName(s.name);
  if (s.growing)
    return (
      <Empty title="No op is in the file yet">
        <p>Ops appear here as they are written.</p>
      </Empty>
    );
  if (s.problems.length > 0)
    return (
      <Empty title="Nothing could be read from the ops">
        <p>{plainName(s.problems[0]!)}.</p>
        {rest && <p>What could be read: {rest}.</p>}
        <p>
          <code>tensortrace recover {name}</code> finishes the trace of a program that was killed, with all that it had recorded;{" "}
          <code>tensortrace verify {name}</code> lists what is damaged.
        </p>
      </Empty>
    );
  return (
    <Empty title="No op was recorded">
      <p>
        The trace is complete: the program computed nothing while it was recorded{rest && `. It has ${rest}`}.{" "}
        <code>tensortrace info {name}</code> shows what it contains.
      </p>
    </Empty>
  );
}

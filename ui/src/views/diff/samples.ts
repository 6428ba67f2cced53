// Data of the lines: the samples of consecutive phases, as columns.

import type { PhaseName, Tokens, TokenPhase } from "./answer";

export interface Samples {
  readonly n: number;
  /** By sample, all of one length. */
  readonly phase: PhaseName[];
  readonly tokenA: (number | null)[];
  readonly tokenB: (number | null)[];
  readonly a: (number | null)[];
  readonly b: (number | null)[];
  /** B - A; null where either is null. */
  readonly delta: (number | null)[];
  /** The range between samples; null if there is none, or it is partial. */
  readonly spans: { aLeast: (number | null)[]; aMost: (number | null)[]; bLeast: (number | null)[]; bMost: (number | null)[] } | null;
  /** The largest distance of two samples, in tokens. */
  readonly every: number;
}

export const WHOLE = "whole";

/** The parts of the network that any phase has times of. */
export function partsOf(tokens: Tokens): string[] {
  const names = new Set<string>();
  for (const phase of tokens.phases) for (const part of phase.parts) names.add(part.category);
  return [...names];
}

function timesOf(phase: TokenPhase, part: string): { a: (number | null)[]; b: (number | null)[] } {
  if (part === WHOLE) return { a: phase.a.time_ns, b: phase.b.time_ns };
  const found = phase.parts.find((p) => p.category === part);
  const none = () => phase.a.batch_id.map(() => null);
  return found ? { a: found.time_a_ns, b: found.time_b_ns } : { a: none(), b: none() };
}

/** "all", or a phase; `part`: WHOLE or a category. Phases follow in the order of A's tokens. */
export function samplesOf(tokens: Tokens, phase: string, part: string): Samples {
  const first = (p: TokenPhase) => p.a.start_relative_ns[0] ?? Infinity;
  const phases = tokens.phases.filter((p) => phase === "all" || p.phase === phase).sort((x, y) => first(x) - first(y));
  const times = phases.map((p) => timesOf(p, part));
  const a = times.flatMap((t) => t.a);
  const b = times.flatMap((t) => t.b);
  const every = Math.max(1, ...phases.map((p) => p.sample_every));
  return {
    n: a.length,
    phase: phases.flatMap((p) => p.a.batch_id.map(() => p.phase)),
    tokenA: phases.flatMap((p) => p.a.batch_id),
    tokenB: phases.flatMap((p) => p.b.batch_id),
    a,
    b,
    delta: a.map((x, i) => (x === null || b[i] == null ? null : b[i]! - x)),
    spans:
      part === WHOLE && every > 1
        ? {
            aLeast: phases.flatMap((p) => p.a.time_least_ns),
            aMost: phases.flatMap((p) => p.a.time_most_ns),
            bLeast: phases.flatMap((p) => p.b.time_least_ns),
            bMost: phases.flatMap((p) => p.b.time_most_ns),
          }
        : null,
    every,
  };
}

/** The last sample whose token is at most `token` on that side; -1: none. */
export function sampleAt(samples: Samples, side: "a" | "b", token: number): number {
  const tokens = side === "a" ? samples.tokenA : samples.tokenB;
  let best = -1;
  for (let i = 0; i < samples.n; i++) {
    const t = tokens[i];
    if (t != null && t <= token && (best < 0 || t > tokens[best]!)) best = i;
  }
  // Beyond the last sample's range nothing is known.
  return best >= 0 && token - tokens[best]! < samples.every ? best : -1;
}

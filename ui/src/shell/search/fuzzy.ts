// Finding a command by a few of its letters.

export interface Match {
  readonly score: number;
  /** Matching positions in the text, ascending. */
  readonly at: readonly number[];
}

const WORD_START = 8;
const RUN = 5;

/** Whether the letters of `query` occur in `text` in that order; better: at starts of words, and one
 * after the other. Null: they do not. Case does not matter, nor do blanks in the query. */
export function fuzzy(query: string, text: string): Match | null {
  const wanted = query.toLowerCase().replace(/\s+/g, "");
  const lower = text.toLowerCase();
  const whole = lower.indexOf(query.trim().toLowerCase());
  if (wanted && whole >= 0) {
    const length = query.trim().length;
    const starts = whole === 0 || !/\w/.test(lower[whole - 1]!);
    const at = Array.from({ length }, (_, i) => whole + i);
    return { score: 1000 + (starts ? WORD_START * length : 0) - whole, at };
  }
  const at: number[] = [];
  let score = 0;
  let from = 0;
  for (const letter of wanted) {
    const next = bestNext(lower, letter, from, at.at(-1));
    if (next < 0) return null;
    if (next === at.at(-1)! + 1) score += RUN;
    if (next === 0 || !/\w/.test(lower[next - 1]!)) score += WORD_START;
    score -= (next - from) * 0.1;
    at.push(next);
    from = next + 1;
  }
  return { score, at };
}

/** The letter right after the last match, else the start of a word, else anywhere. */
function bestNext(text: string, letter: string, from: number, last: number | undefined): number {
  if (last !== undefined && text[last + 1] === letter) return last + 1;
  for (let i = from; i < text.length; i++)
    if (text[i] === letter && (i === 0 || !/\w/.test(text[i - 1]!))) {
      return i;
    }
  return text.indexOf(letter, from);
}

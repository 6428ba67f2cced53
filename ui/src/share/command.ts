// The command line that prints what the view shows.

import { pathOf, viewCommands } from "../state/command";
import { selectedTrace } from "../state/selection";
import { currentView } from "../state/view";

/** As a POSIX shell reads it back to the letter; control characters, which a terminal would obey when it is pasted,
 * as $'...', which bash, zsh and ksh know. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:@%+,=-]+$/.test(text)) return text;
  if (!/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytes = [...new TextEncoder().encode(text)];
  return `$'${bytes.map((b) => (b === 0x27 || b === 0x5c ? `\\${String.fromCharCode(b)}` : b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, "0")}`)).join("")}'`;
}

/** The words of a line as the recorder quotes them: 'it'\\''s'. What a trace says is not trusted: it is quoted anew. */
export function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'?|\\[^]|[^\s'\\])+/g)].map(([word]) => word.replace(/'([^']*)'?|\\([^])/g, (_, quoted: string | undefined, single: string | undefined) => quoted ?? single ?? ""));
}

/** Reads signals. */
export function commandLine(): string {
  const words = viewCommands.get(currentView())?.() ?? ["info", pathOf(selectedTrace.value)];
  return ["tensortrace", ...words.filter((word) => word !== null)].map(shellWord).join(" ");
}

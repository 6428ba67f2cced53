// Text whose numbers are never parted from their units at the end of a line.

import { toChildArray, type ComponentChildren } from "preact";

const NUMBER = /(\d[\d.,]* (?:ns|us|ms|s|B|[KMGTP]iB|[kMGT]?B\/s|%|tokens?\/s)(?![\w/]))/;

function kept(text: string): ComponentChildren[] {
  return text.split(NUMBER).map((part, i) => (i % 2 ? <span class="unit">{part}</span> : part));
}

/** The letters stay the same: what is copied and searched is what a command prints. */
export function Units(props: { children: ComponentChildren }) {
  return <>{toChildArray(props.children).map((child) => (typeof child === "string" ? kept(child) : child))}</>;
}

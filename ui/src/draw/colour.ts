// Colours that are distinguishable with any colour vision, on dark and light backgrounds.
//
// Categories: Okabe and Ito's palette ("Color Universal Design", 2008). Sequences: cividis (Nunez,
// Anderton, Renslow, "Optimizing colormaps with consideration for color vision deficiency", PLOS
// ONE 2018), interpolated from a few of its points. No view encodes anything by colour alone.

import { computed, signal } from "@preact/signals";
import { urlParam } from "../state/url";

export type Rgb = readonly [number, number, number];

/** "dark", "light" or "system". */
export const themeChoice = urlParam("theme", "system");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener("change", (event) => {
  systemDark.value = event.matches;
});
/** Paper is light. */
export const isPrinting = signal(false);
export const isDark = computed(
  () => !isPrinting.value && (themeChoice.value === "system" ? systemDark.value : themeChoice.value === "dark"),
);
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
/** Queried at each animation: the setting may change while the page is open. */
export function reducedMotion(): boolean {
  return reduced.matches;
}

const CATEGORY_COLOURS: Record<string, Rgb> = {
  attention: [0, 114, 178],
  ffn: [230, 159, 0],
  norm: [0, 158, 115],
  ssm: [86, 180, 233],
  rwkv: [150, 140, 40],
  conv: [240, 228, 66],
  projector: [150, 110, 190],
  input: [204, 121, 167],
  output: [213, 94, 0],
  other: [128, 134, 142],
};

/** Where a part of the network belongs, in the order in which legends show them. */
export const CATEGORIES = [
  "input",
  "norm",
  "attention",
  "ffn",
  "ssm",
  "rwkv",
  "conv",
  "projector",
  "output",
  "other",
] as const;

/** Of a category ("attention", ...); another word gets that of "other". */
export function categoryColour(category: string): Rgb {
  return CATEGORY_COLOURS[category] ?? CATEGORY_COLOURS.other!;
}

const SERIES: Rgb[] = [
  [0, 114, 178],
  [230, 159, 0],
  [0, 158, 115],
  [204, 121, 167],
  [213, 94, 0],
  [86, 180, 233],
  [150, 140, 40],
  [128, 134, 142],
];

/** The n-th line of a plot. */
export function seriesColour(n: number): Rgb {
  return SERIES[n % SERIES.length]!;
}

const CIVIDIS: Rgb[] = [
  [0, 32, 77],
  [0, 51, 111],
  [57, 72, 108],
  [87, 93, 109],
  [112, 113, 115],
  [138, 134, 120],
  [166, 157, 117],
  [196, 181, 108],
  [228, 207, 91],
  [255, 234, 70],
];

/** Of a share in 0..1; higher values contrast more with the background. */
export function sequence(share: number, dark: boolean): Rgb {
  const clamped = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  const at = (dark ? clamped : 1 - clamped) * (CIVIDIS.length - 1);
  const i = Math.min(CIVIDIS.length - 2, Math.floor(at));
  const a = CIVIDIS[i]!;
  const b = CIVIDIS[i + 1]!;
  const f = at - i;
  return [a[0] + (b[0] - a[0]) * f, a[1] + (b[1] - a[1]) * f, a[2] + (b[2] - a[2]) * f];
}

export function css(colour: Rgb, alpha = 1): string {
  const [r, g, b] = colour.map(Math.round);
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

/** Black or white, whichever is read better on it (WCAG 2.2, relative luminance). */
export function inkOn(colour: Rgb): string {
  const [r, g, b] = colour.map((c) => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/** A colour of the style sheet, for drawing on a canvas. */
export function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

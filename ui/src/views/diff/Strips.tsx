import type { Traces } from "./pair";
export function Strips(_props: { now: Traces; usual: number | null }) { return null; }

// TEMPORARY decoder
import { getBinary, ofTrace } from "../../api/client";
const CATEGORIES = ["input", "norm", "attention", "ffn", "output", "other"];
export interface Slices { n: number; start_ns: Float64Array; busy_ns: Float64Array; wait_ns: Float64Array; run: Uint32Array; node: Uint32Array; name: Uint32Array; token: Uint32Array; layer_id: Int32Array; track: Uint16Array; kind: Uint8Array; flags: Uint8Array }
export interface Merged { n: number; busy_ns: Float64Array; wait_ns: Float64Array; bucket: Uint32Array; count: Uint32Array; marked: Uint32Array; track: Uint16Array; kind: Uint8Array }
export interface Tile { from_ns: number; to_ns: number; n_buckets: number; slices: Slices; merged: Merged; kinds: { op: string; category: string }[]; names: string[] }
export async function askTile(trace: number, params: Record<string, string | number | null>, abort?: AbortSignal): Promise<Tile> {
  const b = await getBinary(ofTrace(trace, "timeline"), params, abort);
  const v = new DataView(b);
  let at = 40;
  const u32 = () => { const x = v.getUint32(at, true); at += 4; return x; };
  const n_buckets = u32(), ns = u32(), nm = u32(), nl = u32(), nk = u32(), nn = u32(); u32();
  const pad = () => { at = (at + 7) & ~7; };
  pad();
  const f64 = (n: number) => { const x = new Float64Array(b, at, n); at += 8 * n; return x; };
  const a32 = (n: number) => { const x = new Uint32Array(b, at, n); at += 4 * n; pad(); return x; };
  const i32 = (n: number) => { const x = new Int32Array(b, at, n); at += 4 * n; pad(); return x; };
  const a16 = (n: number) => { const x = new Uint16Array(b, at, n); at += 2 * n; pad(); return x; };
  const a8 = (n: number) => { const x = new Uint8Array(b, at, n); at += n; pad(); return x; };
  const slices: Slices = { n: ns, start_ns: f64(ns), busy_ns: f64(ns), wait_ns: f64(ns), run: a32(ns), node: a32(ns), name: a32(ns), token: a32(ns), layer_id: i32(ns), track: a16(ns), kind: a8(ns), flags: a8(ns) };
  const merged: Merged = { n: nm, busy_ns: f64(nm), wait_ns: f64(nm), bucket: a32(nm), count: a32(nm), marked: a32(nm), track: a16(nm), kind: a8(nm) };
  f64(nl); f64(nl); a32(nl); i32(nl); i32(nl); a32(nl); a16(nl);
  const ends1 = a32(nk), cats = a8(nk), ends2 = a32(nn);
  const d = new TextDecoder();
  const texts: string[] = []; let from = 0;
  for (const e of [...ends1, ...ends2]) { texts.push(d.decode(new Uint8Array(b, at + from, e - from))); from = e; }
  return { from_ns: v.getFloat64(8, true), to_ns: v.getFloat64(16, true), n_buckets, slices, merged, kinds: [...cats].map((c, i) => ({ op: texts[i]!, category: CATEGORIES[c]! })), names: texts.slice(nk) };
}

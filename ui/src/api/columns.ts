// Binary replies in columns (docs/api-http.md, "Columns"): a header in JSON, then typed arrays.

export type Column = Float64Array | Uint32Array | Uint8Array;

export interface Columns<H> {
  readonly header: H;
  /** The column of that name; throws if the server sent none. */
  f64(name: string): Float64Array;
  u32(name: string): Uint32Array;
  u8(name: string): Uint8Array;
}

interface Described {
  columns: { name: string; type: "u8" | "u32" | "f64"; offset_bytes: number; n: number }[];
}

/** In a u32 column: not known. */
export const NO_U32 = 0xffffffff;

function columnOf(data: ArrayBuffer, base: number, c: Described["columns"][number]): Column {
  const at = base + c.offset_bytes;
  if (c.type === "f64") return new Float64Array(data, at, c.n);
  return c.type === "u32" ? new Uint32Array(data, at, c.n) : new Uint8Array(data, at, c.n);
}

export function decodeColumns<H>(data: ArrayBuffer): Columns<H> {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length))) as H & Described;
  const found = new Map<string, Column>();
  for (const c of header.columns) found.set(c.name, columnOf(data, 4 + length, c));
  const get = (name: string): Column => {
    const column = found.get(name);
    if (!column) throw new Error(`the server sent no column "${name}"; is the page older than the server?`);
    return column;
  };
  return {
    header,
    f64: (name) => get(name) as Float64Array,
    u32: (name) => get(name) as Uint32Array,
    u8: (name) => get(name) as Uint8Array,
  };
}

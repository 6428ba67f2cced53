// A buffer as the shared selection has it: a region of its whole length.

import { kindText, type BufferRow } from "../../api/buffers";
import { bytes, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { select, selection } from "../../state/selection";

function segmentOf(b: BufferRow): string {
  return `buffer${b.buffer_index}`;
}

export function chooseBuffer(b: BufferRow): void {
  select({ region: { segment: segmentOf(b), from: 0, to: b.size_bytes } });
  announce(`Buffer ${b.buffer_id}, ${plainName(b.name)}, ${kindText(b.kind)}, ${bytes(b.size_bytes)} selected`);
}

/** Also if only a part of it is. */
export function isChosenBuffer(b: BufferRow): boolean {
  return selection.value.region?.segment === segmentOf(b);
}

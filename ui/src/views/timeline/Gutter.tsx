// Names of the tracks, with buttons for each.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../draw/format";
import { foldRow, pinRow } from "./actions";
import { layout, type Row } from "./rows";
import type { Scene } from "./scene";
import { settled } from "./settled";

/** Ops per pixel, if they are too many to be drawn singly. */
function mergedText(track: number): string {
  const n = settled.value.mergedPerPixel.get(track);
  return n === undefined || n < 1.5 ? "" : `${count(Math.round(n))} ops per pixel`;
}

function GutterRow(props: { row: Row; current: boolean; pick: () => void }) {
  const { row } = props;
  const merged = row.kind === "lane" && !row.folded ? mergedText(row.track) : "";
  return (
    <div
      class={`tl-name${props.current ? " tl-current" : ""}${row.folded ? " tl-folded" : ""}`}
      style={{ top: `${row.top}px`, height: `${row.height}px` }}
      onPointerDown={props.pick}
    >
      <button
        type="button"
        class="tl-fold"
        aria-expanded={!row.folded}
        aria-label={`${row.folded ? "Unfold" : "Fold"} ${row.title}`}
        title={row.folded ? "Unfold (C)" : "Fold (C)"}
        onClick={() => foldRow(row)}
      >
        {row.folded ? "▸" : "▾"}
      </button>
      <span class="tl-title">
        {row.title}
        {merged && <small>{merged}</small>}
      </span>
      {row.kind !== "tokens" && row.kind !== "constant" && (
        <button
          type="button"
          class="tl-pin"
          aria-pressed={row.pinned}
          aria-label={`Pin ${row.title}`}
          title={row.pinned ? "Unpin (Shift+P)" : "Pin to the top (Shift+P)"}
          onClick={() => pinRow(row)}
        >
          {row.pinned ? "●" : "○"}
        </button>
      )}
    </div>
  );
}

export function Gutter(props: { scene: Scene | null }) {
  const moving = useRef<HTMLDivElement>(null);
  const { scene } = props;
  useEffect(
    () =>
      effect(() => {
        if (moving.current) moving.current.style.transform = `translateY(${-(scene?.scroll.value ?? 0)}px)`;
      }),
    [scene],
  );
  const l = layout.value;
  const current = scene?.current.value;
  const rows = (pinned: boolean) =>
    l.rows
      .filter((row) => row.pinned === pinned)
      .map((row) => (
        <GutterRow
          row={row}
          key={row.id}
          current={row.id === current}
          pick={() => {
            if (scene) scene.current.value = row.id;
          }}
        />
      ));
  return (
    <div class="tl-gutter" role="group" aria-label="Tracks">
      <div class="tl-scrolls" style={{ top: `${l.fixed}px` }}>
        <div class="tl-moving" ref={moving} style={{ top: `${-l.fixed}px` }}>
          {rows(false)}
        </div>
      </div>
      {rows(true)}
    </div>
  );
}

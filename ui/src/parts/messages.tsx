// What a view shows when there is nothing to show.

import type { ComponentChildren } from "preact";

/** Nothing is wrong, but there is nothing: why, and what would make something appear. */
export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="message" role="status">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** Something failed: what, and what to do. */
export function Failure(props: { error: Error; retry?: () => void }) {
  return (
    <div class="message failure" role="alert">
      <h2>This could not be shown</h2>
      <p>{props.error.message}</p>
      {props.retry && (
        <button type="button" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Loading(props: { what: string }) {
  return (
    <div class="message loading" role="status">
      <p>Reading {props.what}…</p>
    </div>
  );
}

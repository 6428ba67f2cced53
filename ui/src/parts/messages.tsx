// Placeholders for empty views and errors.

import type { ComponentChildren } from "preact";

/** No error, but no data: why, and how to get some. */
export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="message" role="status">
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** An error, and what to do about it. */
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

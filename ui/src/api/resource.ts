// A server resource that a component shows; fetched again when its key changes.

import { signal, useSignal, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { comebacks, isAbort } from "./client";

export interface Resource<T> {
  /** The last reply, also while a newer one is loading; null before the first. */
  readonly data: ReadonlySignal<T | null>;
  readonly error: ReadonlySignal<Error | null>;
  readonly loading: ReadonlySignal<boolean>;
  /** Retries what failed. */
  readonly retry: () => void;
}

/** Loads when `key` changes (null: loads nothing). Aborts the previous request. */
export function useResource<T>(key: string | null, load: (abort: AbortSignal) => Promise<T>): Resource<T> {
  const attempt = useSignal(0);
  const resource = useMemo(
    () => ({
      data: signal<T | null>(null),
      error: signal<Error | null>(null),
      loading: signal(false),
      retry: () => void attempt.value++,
    }),
    [],
  );
  // When the server is back, pending requests are repeated.
  useSignalEffect(() => {
    if (comebacks.value > 0 && resource.error.peek()) resource.retry();
  });
  useEffect(() => {
    if (key === null) {
      resource.data.value = null;
      resource.error.value = null;
      resource.loading.value = false;
      return undefined;
    }
    const controller = new AbortController();
    resource.loading.value = true;
    load(controller.signal)
      .then((data) => {
        if (controller.signal.aborted) return;
        resource.data.value = data;
        resource.error.value = null;
        resource.loading.value = false;
      })
      .catch((reason: unknown) => {
        if (isAbort(reason) || controller.signal.aborted) return;
        resource.error.value = reason instanceof Error ? reason : new Error(String(reason));
        resource.loading.value = false;
      });
    return () => controller.abort();
  }, [key, attempt.value]);
  return resource;
}

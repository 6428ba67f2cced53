// A part of the page whose code is loaded when it is first shown.

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { Loading } from "./messages";

export function Lazy<P extends object>(props: { what: string; load: () => Promise<ComponentType<P>>; with: P }) {
  const made = useSignal<{ Component: ComponentType<P> } | null>(null);
  const failed = useSignal(false);
  useEffect(() => {
    props.load().then(
      (Component) => (made.value = { Component }),
      () => (failed.value = true),
    );
  }, []);
  if (failed.value) return <p role="alert">The server does not answer; start `tensortrace serve` again.</p>;
  const Component = made.value?.Component;
  return Component ? <Component {...props.with} /> : <Loading what={props.what} />;
}

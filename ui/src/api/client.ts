// The server's API: requests, errors as values that can be shown, and coalescing.

import { signal } from "@preact/signals";

/** A request that was refused or failed; `message` is readable text. */
export class ApiError extends Error {
  /** HTTP status; 0: the server did not answer. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Whether the server answered the last request; the shell shows when it did not. */
export const serverReachable = signal(true);

let isLost = false;
/** Incremented when the server answers again after an outage, or after it did not know this
 * browser. */
export const comebacks = signal(0);

export type Params = Record<string, string | number | boolean | null | undefined>;

const ROOT = "/api/v1/";

/** A layer in a request is a key, or a text as people write it. */
function textOf(name: string, value: string | number | boolean): string {
  if (name !== "layer" || typeof value !== "number") return String(value);
  return value < 0 ? "none" : `@${value}`;
}

function address(path: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined) query.set(name, textOf(name, value));
  const text = query.toString();
  return ROOT + path + (text ? "?" + text : "");
}

async function refusal(response: Response): Promise<ApiError> {
  const fallback = `the server answered ${response.status} ${response.statusText}`;
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    return new ApiError(response.status, body.error?.message ?? fallback);
  } catch {
    return new ApiError(response.status, fallback);
  }
}

async function get(path: string, params: Params, abort?: AbortSignal): Promise<Response> {
  return send(address(path, params), { signal: abort ?? null });
}

async function send(url: string, how: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...how, credentials: "same-origin" });
  } catch (reason) {
    if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
    isLost = true;
    serverReachable.value = false;
    throw new ApiError(0, "the server does not answer; start `tensortrace serve` again");
  }
  serverReachable.value = true;
  if (response.status === 401 || response.status === 403) isLost = true;
  if (!response.ok) throw await refusal(response);
  if (isLost) {
    isLost = false;
    comebacks.value++;
  }
  return response;
}

/** In all replies `layer_id` becomes the layer's key (state/layers.ts), where the server sends one. */
function parsed<T>(text: string): T {
  const known = (_: string, v: unknown) => {
    if (v !== null && typeof v === "object" && "layer_key" in v) (v as { layer_id?: unknown }).layer_id = v.layer_key;
    return v;
  };
  return JSON.parse(text, text.includes('"layer_key"') ? known : undefined) as T;
}

/** JSON below /api/v1/. Fails with ApiError, or AbortError when `abort` was used. */
export async function getJson<T>(path: string, params: Params = {}, abort?: AbortSignal): Promise<T> {
  return parsed<T>(await (await get(path, params, abort)).text());
}

/** A change. Fails like getJson. */
export async function postJson<T>(path: string, body: object): Promise<T> {
  const how = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  return parsed<T>(await (await send(address(path, {}), how)).text());
}

/** Bytes below /api/v1/ (little-endian tiles). Fails like getJson. */
export async function getBinary(path: string, params: Params = {}, abort?: AbortSignal): Promise<ArrayBuffer> {
  return (await get(path, params, abort)).arrayBuffer();
}

/** The address of a file to save. */
export function fileAddress(path: string, params: Params = {}): string {
  return address(path, params);
}

/** The path of an endpoint of a trace. */
export function ofTrace(trace: number, name: string): string {
  return `traces/${trace}/${name}`;
}

export function isAbort(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "AbortError";
}

/** At most one pending request, and the newest waiting one: dragging a slider over a thousand
 * tokens sends few requests and ends with the last. */
export class Latest<Q, R> {
  private busy = false;
  private waiting: { ask: Q } | null = null;

  constructor(
    private readonly request: (ask: Q) => Promise<R>,
    private readonly done: (result: R, ask: Q) => void,
    private readonly failed: (reason: unknown, ask: Q) => void,
  ) {}

  ask(ask: Q): void {
    this.waiting = { ask };
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    while (this.waiting) {
      const { ask } = this.waiting;
      this.waiting = null;
      try {
        const result = await this.request(ask);
        this.done(result, ask);
      } catch (reason) {
        if (!isAbort(reason)) this.failed(reason, ask);
      }
    }
    this.busy = false;
  }
}

// Requests of a page, with the reply or the error and a way to repeat them; and what its buttons do.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Api, type ListReply, type Query, Refusal, ServerUnreachable } from "./api.ts";
import { navigate, useRoute } from "./route.ts";
import { useHref, useSession } from "./session.ts";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  loading: boolean;
  /** Whether the value belongs to earlier inputs: its rows must not be clicked. */
  isOld: boolean;
  reload(): void;
}

/** The pause before a server that does not answer, or is busy, is tried again, in ms. */
export const retryMs = 3000;
/** Repetitions of a request that a busy server, or store, did not answer. */
const busyRetriesMax = 5;

/** Loads when `inputs` change. The previous value is shown until the next one arrives. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
): Loaded<Value> {
  const [state, setState] = useState({
    value: undefined as Value | undefined,
    of: inputs,
    error: undefined as unknown,
    loading: true,
  });
  const [reloads, setReloads] = useState(0);
  const retries = useRef(0);
  useEffect(() => void (retries.current = 0), inputs);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setState((before) => ({ ...before, loading: true }));
    load(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, of: inputs, error: undefined, loading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error, loading: false }));
        const isBusy = error instanceof Refusal && error.status === 503 && retries.current++ < busyRetriesMax;
        const waitMs = isBusy ? Math.max(retryMs, error.retryMs) : retryMs;
        if (error instanceof ServerUnreachable || isBusy)
          timer = setTimeout(() => setReloads((before) => before + 1), waitMs);
      },
    );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...inputs, reloads]);
  const reload = useCallback(() => setReloads((before) => before + 1), []);
  const { value, error, loading, of } = state;
  return { value, error, loading, isOld: of.some((item, i) => !Object.is(item, inputs[i])), reload };
}

/** The pause between two polls of running work, in ms. */
const pollMs = 2000;

/**
 * Polls running work, such as a run or a delivery. A hidden page sends no requests.
 * @param reply the last one.
 */
export function usePolling(isRunning: boolean, reply: unknown, reload: () => void, ms = pollMs): void {
  useEffect(() => {
    if (!isRunning) return undefined;
    const reloadIfVisible = () => void (document.visibilityState === "visible" && reload());
    const timer = setTimeout(reloadIfVisible, ms);
    document.addEventListener("visibilitychange", reloadIfVisible);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", reloadIfVisible);
    };
  }, [isRunning, reply]);
}

export type Action = ReturnType<typeof useAction>;

/** An act of a button, with its outcome in words. */
export function useAction() {
  const { api } = useSession();
  /** `done`: what was done last, in words. */
  const [state, setState] = useState({ running: false, error: undefined as unknown, done: "" });
  const run = useCallback((act: () => Promise<string>) => {
    setState({ running: true, error: undefined, done: "" });
    act().then(
      (done) => setState({ running: false, error: undefined, done }),
      (error: unknown) => setState({ running: false, error, done: "" }),
    );
  }, []);
  /** Sends a change, whose body may be a function that makes it; calls `after`, and shows the text `done`. */
  const send = <Reply>(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body: object | undefined | (() => object),
    done: string,
    after?: (reply: Reply) => void,
  ) =>
    run(async () => {
      const content = typeof body === "function" ? body() : body;
      const reply = await api.send<Reply>(method, path, content);
      after?.(reply);
      return done;
    });
  return { ...state, run, send };
}

/** Loads by the API when `inputs` change, or the project. */
export function useRead<Value>(
  read: (api: Api, signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
): Loaded<Value> {
  const { api } = useSession();
  return useLoaded((signal) => read(api, signal), [api, ...inputs]);
}

/** The reply at a path of the API, loaded again when the path, the query or another of the inputs changes. */
export function useGet<Reply>(path: string, query: Query = {}, ...inputs: unknown[]): Loaded<Reply> {
  return useRead(
    (api, signal) => api.get<Reply>(path, query, signal),
    [path, JSON.stringify(query), ...inputs],
  );
}

/** The answer of a query; loaded again when it changes. */
export function useAnswer<Reply>(query: object): Loaded<Reply> {
  return useRead((api, signal) => api.ask<Reply>(query, signal), [JSON.stringify(query)]);
}

/**
 * The parameters of the page's address: the texts of these names, and the first row. Each change is a step of the
 * browser's history, so that reloading and going back show what was shown.
 */
export function useAddress(limit: number, names: readonly string[] = []) {
  const hrefOf = useHref();
  const { page, more, query } = useRoute();
  const offset = Number(/^\d{1,9}$/.exec(query.get("offset") ?? "")?.[0] ?? 0);
  const filter = Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""]));
  /** @returns whether the address changes. */
  const show = (changes: Readonly<Record<string, string | number>>): boolean => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ offset: 0, ...changes })) {
      if (value) next.set(name, String(value));
      else next.delete(name);
    }
    if (next.toString() === query.toString()) return false;
    navigate(hrefOf(page, more, next.toString()));
    return true;
  };
  return {
    filter,
    show,
    page: { offset, limit, set: (to: number) => void show({ offset: to }) },
  };
}

/**
 * A list below the project's path, a page at a time, as the page's address has it.
 * @param names of the filters that the address may have.
 * @param toQuery makes the API's parameters of them; `fixed` ones are always sent.
 */
export function useList<Row>(
  path: string,
  limit: number,
  fixed: Query = {},
  names: readonly string[] = [],
  toQuery: (filter: Readonly<Record<string, string>>) => Query = (filter) => filter,
) {
  const { filter, show, page } = useAddress(limit, names);
  const query = { ...toQuery(filter), ...fixed, offset: page.offset, limit };
  const loaded = useGet<ListReply<Row>>(path, query);
  const apply = (changes: Readonly<Record<string, string>>): void => {
    // An unchanged filter that is applied again reloads the list.
    if (!show(changes)) loaded.reload();
  };
  return { loaded, page, filter, show: apply };
}

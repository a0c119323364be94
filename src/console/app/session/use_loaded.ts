// Requests of a page: the reply or the error, and a way to ask again. And what its buttons do.

import { useCallback, useEffect, useState } from "preact/hooks";
import { Away, type ListReply, type Query } from "./api.ts";
import { useSession } from "./session.ts";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  loading: boolean;
  again(): void;
}

/** Time between two tries to reach a server that does not answer, in ms. */
export const awayAgainMs = 3000;

/** Asks when `question` changes. The value before is kept until the next is there. */
export function useLoaded<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  question: readonly unknown[],
): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "again">>({
    value: undefined,
    error: undefined,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setState((before) => ({ ...before, loading: true }));
    ask(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, error: undefined, loading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error, loading: false }));
        if (error instanceof Away) timer = setTimeout(() => setTurn((before) => before + 1), awayAgainMs);
      },
    );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...question, turn]);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, again };
}

/** Time between two looks at something that goes on, in ms. */
const openAgainMs = 2000;

/**
 * Asks again and again while something goes on, such as a run or a delivery.
 * @param seen what was answered last.
 */
export function useAgainWhile(isOpen: boolean, seen: unknown, again: () => void): void {
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setTimeout(again, openAgainMs);
    return () => clearTimeout(timer);
  }, [isOpen, seen]);
}

export interface Action {
  running: boolean;
  error: unknown;
  /** What was done last, in words. */
  done: string;
  run(act: () => Promise<string>): void;
  /** Sends a change, whose body may be made on the way; then does what follows, and says that it is `done`. */
  send<Reply>(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body: object | undefined | (() => object),
    done: string,
    after?: (reply: Reply) => void,
  ): void;
}

/** What a button does, with its outcome in words. */
export function useAction(): Action {
  const { api } = useSession();
  const [state, setState] = useState({ running: false, error: undefined as unknown, done: "" });
  const run = useCallback((act: () => Promise<string>) => {
    setState({ running: true, error: undefined, done: "" });
    act().then(
      (done) => setState({ running: false, error: undefined, done }),
      (error: unknown) => setState({ running: false, error, done: "" }),
    );
  }, []);
  const send: Action["send"] = (method, path, body, done, after) =>
    run(async () => {
      const sent = typeof body === "function" ? body() : body;
      const reply = await api.send<never>(method, path, sent);
      after?.(reply);
      return done;
    });
  return { ...state, run, send };
}

/** What is at a path of the API; asked again when the question or what was `seen` changes. */
export function useGet<Reply>(path: string, query: Query = {}, ...seen: unknown[]): Loaded<Reply> {
  const { api } = useSession();
  return useLoaded((signal) => api.get<Reply>(path, query, signal), [path, JSON.stringify(query), ...seen]);
}

/** A list below the project's path, a page at a time. `show` begins anew with another filter. */
export function useList<Row>(path: string, limit: number, filter: Query = {}) {
  const { api, home } = useSession();
  const [asking, ask] = useState<Query & { offset: number }>({ ...filter, offset: 0 });
  const asked = useLoaded(
    (signal) => api.get<ListReply<Row>>(`${home}/${path}`, { ...asking, limit }, signal),
    [home, asking],
  );
  const set = (offset: number) => ask({ ...asking, offset });
  const show = (other: Query) => ask({ ...other, offset: 0 });
  return { asked, page: { offset: asking.offset, limit, set }, filter: asking, show };
}

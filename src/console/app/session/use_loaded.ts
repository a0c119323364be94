// Requests of a page: the reply or the error, and a way to ask again. And what its buttons do.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type ListReply, type Query, Refusal, ServerUnreachable } from "./api.ts";
import { hrefOf, navigate, useRoute } from "./route.ts";
import { useSession } from "./session.ts";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  loading: boolean;
  /** Whether the value answers the question before: its rows must not be clicked. */
  isOld: boolean;
  again(): void;
}

/** Time between two tries to reach a server that does not answer, in ms. */
export const awayAgainMs = 3000;
/** How often a question is asked again that a busy server, or a store, did not answer. */
const busyAgainMax = 5;

/** Asks when `question` changes. The value before is kept until the next is there. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  question: readonly unknown[],
): Loaded<Value> {
  const [state, setState] = useState({
    value: undefined as Value | undefined,
    of: question,
    error: undefined as unknown,
    loading: true,
  });
  const [reload, setReload] = useState(0);
  const refused = useRef(0);
  useEffect(() => void (refused.current = 0), question);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    setState((before) => ({ ...before, loading: true }));
    load(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, of: question, error: undefined, loading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, error, loading: false }));
        const isBusy = error instanceof Refusal && error.status === 503 && refused.current++ < busyAgainMax;
        if (error instanceof ServerUnreachable || isBusy)
          timer = setTimeout(() => setReload((before) => before + 1), awayAgainMs);
      },
    );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...question, reload]);
  const again = useCallback(() => setReload((before) => before + 1), []);
  const { value, error, loading, of } = state;
  return { value, error, loading, isOld: of.some((one, i) => !Object.is(one, question[i])), again };
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

/**
 * What the page's address asks for: the texts of these names, and from which row on. Another question is a step of the
 * browser's history, so that reloading and going back show what was shown.
 */
export function useAddress(limit: number, names: readonly string[] = []) {
  const { project } = useSession();
  const { page, more, query } = useRoute();
  const offset = Number(/^\d{1,9}$/.exec(query.get("offset") ?? "")?.[0] ?? 0);
  const filter = Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""]));
  /** @returns whether that is another question. */
  const show = (changes: Readonly<Record<string, string | number>>): boolean => {
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries({ offset: 0, ...changes })) {
      if (value) next.set(name, String(value));
      else next.delete(name);
    }
    if (next.toString() === query.toString()) return false;
    navigate(`${hrefOf(project.id, page, more)}${next.size > 0 ? `?${next}` : ""}`);
    return true;
  };
  return {
    asked: { ...filter, offset },
    filter,
    show,
    page: { offset, limit, set: (to: number) => void show({ offset: to }) },
  };
}

/** What a form says: what its page shows, until somebody writes, and again when the address changes. */
export function useDraft(filter: Readonly<Record<string, string>>) {
  const of = JSON.stringify(filter);
  const [draft, setDraft] = useState<{ of: string; fields: Readonly<Record<string, string>> }>();
  // Going back to an address shows what it asks, not what was written there before.
  useEffect(() => setDraft(undefined), [of]);
  const fields = draft?.of === of ? draft.fields : filter;
  const set = (name: string) => (value: string) => setDraft({ of, fields: { ...fields, [name]: value } });
  return { fields, set };
}

/**
 * A list below the project's path, a page at a time, as the page's address asks for it.
 * @param names of the filters that the address may have.
 * @param asking makes what the API is asked of them; `fixed` filters are always there.
 */
export function useList<Row>(
  path: string,
  limit: number,
  fixed: Query = {},
  names: readonly string[] = [],
  asking: (filter: Readonly<Record<string, string>>) => Query = (filter) => filter,
) {
  const { home } = useSession();
  const { asked: address, filter, show, page } = useAddress(limit, names);
  const query = { ...asking(filter), ...fixed, offset: address.offset, limit };
  const asked = useGet<ListReply<Row>>(`${home}/${path}`, query);
  const apply = (changes: Readonly<Record<string, string>>): void => {
    // Whoever asks for what is shown wants it anew.
    if (!show(changes)) asked.again();
  };
  return { asked, page, filter, show: apply };
}

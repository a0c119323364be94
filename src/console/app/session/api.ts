// Requests to the API with the key of this tab or the session of this browser, and its errors in words.

/** The API refused the request, with a reason. */
export class Refusal extends Error {
  readonly status: number;
  /** Milliseconds after which a busy server answers again, as it says; 0 when it does not. */
  readonly retryMs: number;

  constructor(status: number, detail: string, retryMs = 0) {
    super(detail);
    this.status = status;
    this.retryMs = retryMs;
  }
}

export class ServerUnreachable extends Error {
  constructor() {
    super("The server does not answer. Is it running? This page tries again by itself.");
  }
}

export type Query = Record<string, string | number | boolean | undefined>;

export type Api = ReturnType<typeof openApi>;

export interface ListReply<Row> {
  count: number;
  results: Row[];
}

/** Identifies the sender of a request: by the key, else by the session, which is a cookie. */
export function toCredentials(key: string | null): RequestInit & { headers: Record<string, string> } {
  if (key !== null) return { headers: { authorization: `Bearer ${key}` }, credentials: "omit" };
  // A header that no other page can send: without it the session is not accepted.
  return { headers: { "x-sluice-console": "1" }, credentials: "same-origin" };
}

/**
 * @param key null for the session.
 * @param refused called when the key, or the session, is no longer valid.
 * @param home the path that all others are below, except those that begin with a slash.
 */
export function openApi(key: string | null, refused: () => void, home = "") {
  const send = async (method: string, path: string, more: RequestInit): Promise<Response> => {
    const { headers, credentials } = toCredentials(key);
    headers["accept"] = "application/json";
    if (more.body !== undefined) headers["content-type"] = "application/json";
    const url = path.startsWith("/") ? path : `${home}/${path}`;
    const reply = await sendRequest(url, { method, headers, credentials: credentials ?? "omit", ...more });
    if (reply.ok) return reply;
    const refusal = await readRefusal(reply);
    if (refusal.status === 401) refused();
    throw refusal;
  };
  const change = async <Reply>(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body?: object,
    signal?: AbortSignal,
  ) => {
    const more = { ...(body && { body: JSON.stringify(body) }), ...(signal && { signal }) };
    return await readJson<Reply>(await send(method, path, more));
  };
  return {
    get: async <Reply>(path: string, query: Query = {}, signal?: AbortSignal) =>
      await readJson<Reply>(await send("GET", buildAddress(path, query), signal ? { signal } : {})),
    send: change,
    /** The answer of a query of the project. */
    ask: async <Reply>(query: object, signal: AbortSignal) =>
      await change<Reply>("POST", "query/", { query }, signal),
    /** A reply that is read while it arrives. */
    open: (path: string, query: Query, signal: AbortSignal) =>
      send("GET", buildAddress(path, query), { signal }),
  };
}

/** @throws ServerUnreachable; the signal's own error when the caller aborted. */
export async function sendRequest(path: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: "omit", ...options, cache: "no-store" });
  } catch (thrown) {
    if (options.signal?.aborted) throw thrown;
    throw new ServerUnreachable();
  }
}

/** The body of a reply, as JSON. @throws Refusal, ServerUnreachable */
export async function readReply<Reply>(path: string, options: RequestInit): Promise<Reply> {
  const reply = await sendRequest(path, options);
  if (!reply.ok) throw await readRefusal(reply);
  return await readJson<Reply>(reply);
}

/** Sends a request that begins or ends a session. @throws Refusal, ServerUnreachable */
export async function sendSigning<Reply>(path: string, body: object, more: object = {}): Promise<Reply> {
  const { headers, credentials } = toCredentials(null);
  const sent = { ...headers, ...more, "content-type": "application/json" };
  const options = { credentials: credentials!, method: "POST", headers: sent, body: JSON.stringify(body) };
  return await readReply<Reply>(path, options);
}

export async function readRefusal(reply: Response): Promise<Refusal> {
  const refused = (await reply.json().catch(() => null)) as { detail?: string } | null;
  const retryMs = 1000 * Number(reply.headers.get("retry-after") ?? 0);
  return new Refusal(reply.status, refused?.detail ?? `The server answered ${reply.status}.`, retryMs);
}

function buildAddress(path: string, query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") params.set(name, String(value));
  }
  return params.size > 0 ? `${path}?${params}` : path;
}

/** Undefined where there is no body, as after a deletion. */
async function readJson<Reply>(reply: Response): Promise<Reply> {
  const text = await reply.text();
  return (text === "" ? undefined : parsedJson(text)) as Reply;
}

/** A number that JavaScript would round, such as an id of 19 digits, is kept as its text. */
export function parsedJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const exact = (_: string, value: unknown, { source }: { source?: string } = {}) => {
    const isRounded = typeof value === "number" && !!source && /^-?\d{16,}$/.test(source);
    return isRounded && String(value) !== source ? source : value;
  };
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}

export function toMessage(thrown: unknown): string {
  if (thrown instanceof Refusal && thrown.status === 429) return `${thrown.message} (too many requests)`;
  return thrown instanceof Error ? thrown.message : String(thrown);
}

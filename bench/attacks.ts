// Requests with which one stranger might stop a server: what each sends, and what must be stored before. What an attack
// may cost depends on the sender: without a key, with the public project key, or with a personal key.

import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { personalKey, projectKey } from "./stand.ts";

export type Sender = "public" | "personal";

export interface Attack {
  name: string;
  sender: Sender;
  /** One request; `i` distinguishes those that are sent at once. */
  send(url: string, i: number): Promise<Response>;
  /** What has to be stored first; the attack begins when all of it is. */
  prepare?(url: string): Promise<void>;
}

/** What a body may inflate to. */
const inflatedBytes = 99_000_000;
const personal = { authorization: `Bearer ${personalKey}` };
const project = "/api/projects/1";

/** All attacks; bodies are made when they are first needed and kept, since some take seconds to compress. */
export function attacks(): Attack[] {
  return [...strangers(), ...publicKey(), ...recordings(), ...readers(), ...writers()];
}

function strangers(): Attack[] {
  const brackets = once(() => brotli(`[${"[],".repeat(inflatedBytes / 3)}`));
  const zipped = once(() => gzipSync(`[${"[],".repeat(inflatedBytes / 3)}`));
  const blanks = once(() => gzipSync(Buffer.alloc(inflatedBytes, " ")));
  const unknown = once(() => gzipSync(tinyEvents("phc_nobody_holds_this_key_0123456789")));
  const plain = once(() => Buffer.from(tinyEvents("phc_nobody_holds_this_key_0123456789", 19_000_000)));
  const twice = once(() => gzipSync(gzipSync(Buffer.alloc(inflatedBytes, "["))));
  const form = once(() => Buffer.from(`data=${"%5B".repeat(6_300_000)}`));
  return [
    posted("flags: brackets in brotli", "/flags/?config=true", brackets, { "content-encoding": "br" }),
    posted("decide: brackets in gzip", "/decide/", zipped),
    posted("batch: brackets in brotli", "/batch/", brackets, { "content-encoding": "br" }),
    posted("batch: blanks in gzip", "/batch/", blanks),
    posted("batch: gzip in gzip", "/batch/", twice),
    posted("batch: events under an unknown key", "/batch/", unknown),
    posted("batch: 19 MB under an unknown key", "/batch/", plain),
    posted("capture: a form of brackets", "/capture/", form, {
      "content-type": "application/x-www-form-urlencoded",
    }),
    posted("recordings: brackets in gzip", "/s/", zipped),
  ];
}

function publicKey(): Attack[] {
  const tiny = once(() => gzipSync(tinyEvents(projectKey)));
  const long = once(() => gzipSync(oneEvent(`{"a":"${"x".repeat(inflatedBytes)}"}`)));
  const deep = once(() => gzipSync(oneEvent(`{"a":${"[".repeat(inflatedBytes / 2)}}`)));
  const set = once(() => gzipSync(batch(5000, (i) => event(i, `{"$set":${wide(i, 1000)}}`))));
  const merges = once(() =>
    Buffer.from(batch(5000, (i) => event(i, `{"alias":"c${i + 1}"}`, "$merge_dangerously", `c${i}`))),
  );
  const plain = once(() => Buffer.from(tinyEvents(projectKey, 19_000_000)));
  const flags = once(() =>
    brotli(`{"token":"${projectKey}","person_properties":{"a":[${"[],".repeat(inflatedBytes / 3)}`),
  );
  return [
    posted("batch: tiny events in gzip", "/batch/", tiny),
    posted("batch: 19 MB of tiny events", "/batch/", plain),
    posted("batch: one long string in gzip", "/batch/", long),
    posted("batch: one deep event in gzip", "/batch/", deep),
    posted("batch: $set of a thousand keys each, in gzip", "/batch/", set),
    posted("batch: a chain of merges", "/batch/", merges),
    posted("flags: brackets behind a known key", "/flags/", flags, { "content-encoding": "br" }),
  ];
}

function recordings(): Attack[] {
  const wantRecordings = (url: string) => patch(url, { session_recording_opt_in: true });
  const compressed = once(() =>
    JSON.stringify(gzipSync(`[${"[],".repeat(inflatedBytes / 3)}[]]`).toString("latin1")),
  );
  const piece = (session: string, i: number) =>
    `{"event":"$snapshot","api_key":"${projectKey}","distinct_id":"d","properties":{"$session_id":"${session}",` +
    `"$window_id":"w${i}","$snapshot_data":[{"type":2,"cv":"2024-10","timestamp":${1_700_000_000_000 + i},"data":${compressed()}}]}}`;
  const send = (url: string, session: string, i: number) =>
    post(url, "/s/", gzipSync(`[${piece(session, i)}]`), { "content-type": "text/plain" });
  const record = async (url: string) => {
    await wantRecordings(url);
    for (let i = 0; i < 3; i++) await drained(await send(url, "bomb", i));
  };
  let shared: string | undefined;
  const share = async (url: string) => {
    if (shared !== undefined) return;
    const made = await fetch(`${url}${project}/session_recordings/bomb/sharing/`, {
      method: "PATCH",
      headers: { ...personal, "content-type": "application/json" },
      body: '{"enabled":true}',
    });
    shared = ((await made.json()) as { access_token: string }).access_token;
  };
  return [
    {
      name: "a recording that is a bomb, sent",
      sender: "public",
      prepare: wantRecordings,
      send: (url, i) => send(url, `sent-${i}`, i),
    },
    {
      name: "a recording that is a bomb, by its shared link",
      sender: "public",
      prepare: async (url) => {
        await record(url);
        await recorded(url);
        await share(url);
      },
      send: (url) => fetch(`${url}/shared/${shared}/`),
    },
    got("a recording that is a bomb, its snapshots", `${project}/session_recordings/bomb/snapshots/`),
    got(
      "a recording that is a bomb, a blob of it",
      `${project}/session_recordings/bomb/snapshots/?source=blob_v2&blob_key=0`,
    ),
  ];
}

/** Until the recording named `bomb` can be read. */
async function recorded(url: string): Promise<void> {
  for (;;) {
    const reply = await fetch(`${url}${project}/session_recordings/bomb/`, { headers: personal });
    await drained(reply);
    if (reply.ok) return;
    await Bun.sleep(50);
  }
}

function readers(): Attack[] {
  const large = async (url: string) => {
    for (let i = 0; i < 1000; i += 20) {
      const body = batch(20, (n) => event(i + n, `{"a":"${noise(900_000)}"}`, "large", `large-${n}`));
      await kept(url, body);
    }
  };
  const wideOnes = async (url: string) => {
    for (let i = 0; i < 1000; i += 50) {
      const body = batch(50, (n) =>
        event(i + n, `{"$set":{"a":"${noise(300_000)}"}}`, "$set", `wide-${i + n}`),
      );
      await kept(url, body);
    }
  };
  const merged = async (url: string) => {
    for (let i = 0; i < 100_000; i += 5000) {
      const body = batch(5000, (n) =>
        event(n, `{"$anon_distinct_id":"visitor-${i + n}"}`, "$identify", "kiosk"),
      );
      await kept(url, body);
    }
  };
  const heavy = {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: null, math: "dau" }],
    breakdownFilter: { breakdown: "a", breakdown_type: "event" },
    dateRange: { date_from: "-180d" },
    interval: "hour",
  };
  return [
    got("1,000 events of 900 kB", `${project}/events/?limit=1000`, large),
    asked("a heavy trend", "POST", `${project}/query/`, { query: heavy }),
    got("1,000 persons of 300 kB", `${project}/persons/?limit=1000`, wideOnes),
    got("a person of 100,000 ids", `${project}/persons/?distinct_id=kiosk`, merged),
    got("a search among persons", `${project}/persons/?search=kiosk&limit=1000`),
  ];
}

function writers(): Attack[] {
  const blanks = `a${" ".repeat(120_000)}b`;
  const exportOf = (i: number) => ({
    name: `e${i}`,
    interval: "day",
    destination: { type: "NoOp", config: {} },
    native_query: `SELECT ${"a".padEnd(60_000, "_")}b FROM events`,
  });
  return [
    asked("a project's name of blanks", "PATCH", `${project}/`, { name: blanks }),
    asked("a native_query of underscores", "POST", `${project}/batch_exports/`, exportOf),
    asked("ai/regex of blanks", "POST", `${project}/session_recordings/ai/regex/`, {
      regex: blanks,
      messages: blanks,
    }),
    asked("a query of filters", "POST", `${project}/query/`, {
      query: {
        kind: "EventsQuery",
        select: ["*"],
        properties: Array.from({ length: 5000 }, (_, i) => ({
          key: `k${i}`,
          value: ["x"],
          operator: "exact",
        })),
      },
    }),
    asked("a million brackets", "PATCH", `${project}/`, "[".repeat(1_000_000)),
    {
      name: "a body of a megabyte in gzip",
      sender: "personal",
      send: (url) =>
        fetch(`${url}${project}/`, {
          method: "PATCH",
          headers: { ...personal, "content-type": "application/json", "content-encoding": "gzip" },
          body: gzipSync(`{"name":"${" ".repeat(50_000_000)}"}`),
        }),
    },
  ];
}

/** Sends a body until all of it is accepted; waits when the server is behind. */
async function kept(url: string, body: string): Promise<void> {
  for (;;) {
    const reply = await post(url, "/batch/", Buffer.from(body));
    await drained(reply);
    if (reply.ok) return;
    if (reply.status !== 503) throw new Error(`a body of the preparation was refused: ${reply.status}`);
    await Bun.sleep(200);
  }
}

async function patch(url: string, changes: object): Promise<void> {
  const headers = { ...personal, "content-type": "application/json" };
  await drained(
    await fetch(`${url}${project}/`, { method: "PATCH", headers, body: JSON.stringify(changes) }),
  );
}

/** Reads an answer without keeping it. */
export async function drained(reply: Response): Promise<number> {
  let bytes = 0;
  for await (const piece of reply.body ?? []) bytes += piece.length;
  return bytes;
}

type Headers = Record<string, string>;

function post(url: string, path: string, body: Uint8Array, headers: Headers = {}): Promise<Response> {
  return fetch(`${url}${path}`, { method: "POST", headers, body: body as Uint8Array<ArrayBuffer> });
}

function posted(name: string, path: string, body: () => Uint8Array, headers: Headers = {}): Attack {
  return { name, sender: "public", send: (url) => post(url, path, body(), headers) };
}

function got(name: string, path: string, prepare?: (url: string) => Promise<void>): Attack {
  const send = (url: string) => fetch(`${url}${path}`, { headers: personal });
  return { name, sender: "personal", send, ...(prepare && { prepare }) };
}

function asked(
  name: string,
  method: string,
  path: string,
  content: object | string | ((i: number) => object),
): Attack {
  const text = (i: number) =>
    typeof content === "string"
      ? content
      : JSON.stringify(typeof content === "function" ? content(i) : content);
  const headers = { ...personal, "content-type": "application/json" };
  return {
    name,
    sender: "personal",
    send: (url, i) => fetch(`${url}${path}`, { method, headers, body: text(i) }),
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => (made ??= make());
}

/** At the fastest level: the result is nearly as small as at the slowest, and made in a moment. */
function brotli(text: string): Buffer {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
}

function event(i: number, properties: string, name = "attack", id = `d${i}`): string {
  return `{"event":"${name}","distinct_id":"${id}","properties":${properties}}`;
}

function batch(count: number, item: (i: number) => string): string {
  return `{"api_key":"${projectKey}","batch":[${Array.from({ length: count }, (_, i) => item(i)).join(",")}]}`;
}

function oneEvent(properties: string): string {
  return `{"api_key":"${projectKey}",${event(0, properties).slice(1)}`;
}

function tinyEvents(key: string, bytes = inflatedBytes): string {
  const one = '{"event":"e","distinct_id":"1"},';
  return `{"api_key":"${key}","batch":[${one.repeat(Math.floor(bytes / one.length)).slice(0, -1)}]}`;
}

function wide(i: number, keys: number): string {
  return `{${Array.from({ length: keys }, (_, n) => `"k${i * keys + n}":${n}`).join(",")}}`;
}

/** Characters that hardly compress. */
function noise(letters: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)))
    .toString("base64")
    .repeat(Math.ceil(letters / 87_384))
    .slice(0, letters);
}

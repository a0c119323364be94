// Bodies that no client sends by accident, each built to make one part of capture work hard.

import { bodyAround, eventTexts } from "./events.ts";
import { projectKey } from "./stand.ts";

/** Bodies of about `bytes` each, by what is unusual about them; the first one is normal. */
export function hostileBodies(bytes: number): Record<string, Uint8Array> {
  const plain = eventTexts({ count: Math.ceil(bytes / 552) });
  const normal = filled(bytes, (i) => plain[i % plain.length]!);
  const sound = bodyAround(plain, projectKey);
  return {
    normal,
    ...oddGrammar(bytes),
    ...oddEvents(bytes),
    ...identities(bytes),
    ...longOnes(bytes),
    ...manyOfEach(bytes),
    ...mixed(bytes),
    ...nearlyTooLong(bytes),
    ...wrapped(plain),
    "cut off": sound.subarray(0, -10),
    "not UTF-8 at its end": Buffer.concat([sound, new Uint8Array([0xff])]),
  };
}

function filled(bytes: number, item: (i: number) => string): Uint8Array {
  const items: string[] = [];
  for (let size = 0, i = 0; size < bytes; i++) {
    const next = item(i);
    items.push(next);
    size += Buffer.byteLength(next) + 1;
  }
  return bodyAround(items, projectKey);
}

function event(properties: string, name = "odd", id = "someone"): string {
  return `{"event":"${name}","distinct_id":"${id}","properties":${properties}}`;
}

function wide(i: number, count: number, member: (n: number) => string): string {
  return `{${Array.from({ length: count }, (_, n) => member(i * count + n)).join(",")}}`;
}

function oddGrammar(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  return {
    "nested 120 deep": all(() =>
      event(`{"a":${"[".repeat(60)}${'{"b":'.repeat(60)}1${"}".repeat(60)}${"]".repeat(60)}}`),
    ),
    "nested 100,000 deep": all(() => event(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)),
    "escapes everywhere": all((i) =>
      event(
        wide(i, 8, (n) => `"\\u006b${n}":"${'\\u0041\\n\\\\\\"'.repeat(6)}"`),
        "\\u006f\\u0064d",
        "\\u0069d",
      ),
    ),
    "NUL and lone surrogates": all((i) => event(wide(i, 8, (n) => `"k${n}":"\\u0000\\ud800 and \\udc00"`))),
    "duplicate keys": all(() => event(wide(0, 40, () => `"distinct_id":"x"`))),
    "duplicate members of an event": all(
      () =>
        `{${'"event":"odd","distinct_id":"x","properties":{"distinct_id":"y"},'.repeat(10)}"event":"odd"}`,
    ),
    "long numbers": all((i) => event(wide(i, 8, (n) => `"k${n}":-${"1234567890".repeat(6)}.${n}e-30`))),
    "arrays of ones": all(() => event(`{"a":[${"1,".repeat(1000)}1]}`)),
    "white space": all(() => event(`{${" \n\t\r".repeat(100)}}`)),
    "wide characters": all((i) => event(wide(i, 8, (n) => `"ключ${n}":"靴と鞄😀é"`))),
  };
}

function oddEvents(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  const with_ = (i: number, more: string) => `${event("{}", "e", `d${i}`).slice(0, -1)},${more}}`;
  return {
    "tiny events": all((i) => `{"event":"e","distinct_id":"${i}"}`),
    "tiny items that are none": all(() => "{}"),
    "numbers instead of items": all(() => "1"),
    "360 months": all((i) => with_(i, `"timestamp":"${monthText(i)}"`)),
    "120 years": all((i) => with_(i, `"timestamp":"${1900 + (i % 120)}-06-15T12:00:00Z"`)),
    "a name for every event": all((i) => event("{}", `name ${i}`)),
    "names of 200 kB": all((i) => event("{}", `${"\\n".repeat(100_000)}${i}`)),
    "ids that are numbers": all((i) => `{"event":"e","distinct_id":${i}.5e3,"properties":{}}`),
    "ids of 9 kB": all((i) => event("{}", "e", `${"靴".repeat(3000)}${i}`)),
    "a warning for each": all((i) => with_(i, `"timestamp":"the ${i}th of May 2024","uuid":"no${i}"`)),
    "dates of e-mails": all((i) => with_(i, `"timestamp":"Thu, 14 Nov 2024 12:0${i % 10}:00 GMT"`)),
  };
}

function identities(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  return {
    "$set of all kinds": all((i) =>
      event(`{"$set":{"a${i % 100}":1,"b":"x","c":[]},"$set_once":{"a":1},"$unset":["x","y"]}`),
    ),
    "$set of a thousand keys": all(() => event(`{"$set":${wide(0, 1000, (n) => `"k${n}":${n}`)}}`)),
    "groups of 64": all((i) => event(`{"$groups":${wide(0, 64, (n) => `"t${n}":"g${i}"`)}}`)),
    "merges of placeholders": all((i) =>
      event(`{"$anon_distinct_id":"null","$set":{}}`, "$identify", `d${i}`),
    ),
  };
}

function longOnes(bytes: number): Record<string, Uint8Array> {
  const single = (properties: string) =>
    Buffer.from(`{"api_key":"${projectKey}",${event(properties).slice(1)}`);
  return {
    "one string of 900 kB an event": filled(bytes, () => event(`{"a":"${"x".repeat(900_000)}"}`)),
    "one huge string": filled(bytes, () => event(`{"a":"${"x".repeat(bytes)}"}`)),
    "one event, a huge string": single(`{"a":"${"x".repeat(bytes)}"}`),
    "one event, a huge array": single(`{"a":[${"1,".repeat(bytes / 2)}1]}`),
    "one event, many members": single(wide(0, Math.ceil(bytes / 14), (n) => `"k${n}":1`)),
    "an item that is an array": filled(bytes, () => `[${"1,".repeat(bytes / 2)}1]`),
    "white space alone": Buffer.alloc(bytes, " "),
    "one recording": filled(bytes, () => snapshot("s", Math.ceil(bytes / 62))),
    "tiny recordings": filled(bytes, (i) => snapshot(`s${i}`, 1)),
  };
}

function snapshot(session: string, events: number): string {
  const one = '{"type":3,"timestamp":1700000000000,"data":{"source":2,"type":2}}';
  const data = `"$session_id":"${session}","$snapshot_data":[${Array.from({ length: events }, () => one).join(",")}]`;
  return event(`{${data}}`, "$snapshot");
}

/** Something new in each event, for all that keeps or groups values. */
function manyOfEach(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  const keys = (i: number, count: number) => Array.from({ length: count }, (_, n) => `"k${i * count + n}"`);
  return {
    "a new property each": all((i) => event(`{"$set":{"key ${i}":${i}}}`, "e", `d${i}`)),
    "$set of a thousand new keys": all((i) => event(`{"$set":${wide(i, 1000, (n) => `"k${n}":${n}`)}}`)),
    "$unset of a thousand new keys": all((i) => event(`{"$unset":[${keys(i, 1000).join(",")}]}`)),
    "a session and id each": all((i) => event(`{"$session_id":"s${i}"}`, "e", `d${i}`)),
    "groups with new keys": all((i) => event(`{"$groups":{"company":"c${i}","team":"t${i}"}}`, "e", `d${i}`)),
    "a merge each": all((i) => event(`{"$anon_distinct_id":"a${i}","$set":{}}`, "$identify", `d${i}`)),
    "merges in one chain": all((i) => event(`{"alias":"c${i + 1}"}`, "$merge_dangerously", `c${i}`)),
    "tiny events, a name each": all((i) => `{"event":"${i}","distinct_id":"1"}`),
  };
}

/** Bodies that change between the fast way and the slow one, or are read more than once. */
function mixed(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  const at = (i: number, more: string) => `${event("{}", "e", `d${i}`).slice(0, -1)},${more}}`;
  return {
    "tiny events, every other odd": all((i) => `{"event":"e","distinct_id":"${i % 2 ? "" : "é"}${i}"}`),
    "tiny events that lack something": all(() => '{"event":"$identify","distinct_id":"1"}'),
    "ids that are objects": all((i) => `{"event":"e","distinct_id":{"a":[1,2,{"b":${i}}]}}`),
    "times that are numbers": all((i) => at(i, `"timestamp":${1714905600000 + i}`)),
    "times of every spelling": all((i) => at(i, `"timestamp":"${spellings[i % spellings.length]}"`)),
    "two properties each": all((i) => event(`{"a":${i}},"properties":{"b":${i}}`)),
  };
}

const spellings = [
  "2024-W09-4T10:00:00Z",
  "2024-060",
  "20240229T101112",
  "1714905600000",
  "May 5 2024 10:00",
  "Sun May 05 2024 10:00:00 GMT+0200 (Central European Summer Time)",
  "2024-05-05",
];

/** As long as is accepted, or as is read in one turn. */
function nearlyTooLong(bytes: number): Record<string, Uint8Array> {
  const all = (item: (i: number) => string) => filled(bytes, item);
  return {
    "events of 999 kB, all NUL": all(() => event(`{"a":"${"\\u0000".repeat(166_000)}"}`)),
    "events of 999 kB, all escapes": all(() => event(`{"a":"${'\\"'.repeat(499_000)}"}`)),
    "recordings of 500 kB": all((i) => snapshot(`s${i}`, 7500)),
  };
}

/** Members around a batch, as large as the batch itself. */
function wrapped(plain: readonly string[]): Record<string, Uint8Array> {
  const part = (share: number) => bodyAround(plain.slice(0, Math.floor(plain.length * share)), projectKey);
  const letters = Buffer.from(part(0.7)).toString("base64");
  return {
    base64: Buffer.from(letters),
    "a form of base64": Buffer.from(`data=${encodeURIComponent(letters)}`),
    "a form of JSON": Buffer.from(`data=${encodeURIComponent(Buffer.from(part(0.5)).toString())}`),
    "gzip of tiny events, five times": Bun.gzipSync(
      filled(5 * bytesOf(plain), () => '{"event":"e","distinct_id":"1"}') as Uint8Array<ArrayBuffer>,
    ),
    "gzip of five bodies": Bun.gzipSync(
      bodyAround(Array.from({ length: 5 }, () => plain).flat(), projectKey) as Uint8Array<ArrayBuffer>,
    ),
  };
}

function bytesOf(items: readonly string[]): number {
  return items.reduce((bytes, item) => bytes + item.length + 1, 0);
}

function monthText(i: number): string {
  return new Date(Date.UTC(1995, i % 360, 15)).toISOString();
}

// Bodies as clients send them, and as a bad line, a proxy or a malicious client makes of them.

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import LZString from "lz-string";
import { key } from "./capture.ts";

export interface Mutated {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** How many events it holds, where nothing was changed. */
  items: number | undefined;
}

const names = [
  "e",
  "$pageview",
  "$identify",
  "$create_alias",
  "$groupidentify",
  "survey sent",
  "$snapshot",
  "",
];
const id = fc.oneof(fc.constantFrom("d", "", " ", null), fc.string({ maxLength: 300 }), fc.integer());
const time = fc.oneof(
  fc.constantFrom("2024-01-01T00:00:00Z", "2024-01-01", "soon", "", null, 1_700_000_000, 1e300),
  fc.string({ maxLength: 30 }),
);
const member = fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }));
const properties = fc.oneof(
  fc.constantFrom(null, [], 7, {}),
  fc.dictionary(
    fc.oneof(
      fc.constantFrom("$set", "alias", "$group_key", "$group_set", "distinct_id", "token", "$current_url"),
      fc.constantFrom("$process_person_profile", "$anon_distinct_id", "__proto__", "$ignore_sent_at"),
      fc.string({ maxLength: 12 }),
    ),
    member,
    { maxKeys: 6 },
  ),
);
const event = fc.record(
  {
    event: fc.oneof(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 1 })),
    distinct_id: id,
    properties,
    timestamp: time,
    uuid: fc.oneof(fc.uuid(), fc.string({ maxLength: 36 })),
    offset: fc.oneof(fc.integer(), fc.double(), fc.string({ maxLength: 4 })),
    $set: member,
  },
  { requiredKeys: ["event", "distinct_id"] },
);
const items = fc.array(fc.oneof({ weight: 9, arbitrary: event }, { weight: 1, arbitrary: fc.jsonValue() }), {
  maxLength: 6,
});
const shape = fc.oneof(
  fc.record({ api_key: fc.constant(key), batch: items, sent_at: time, historical_migration: fc.boolean() }),
  event.map((one) => ({ ...one, api_key: key })),
  items.map((list) => list.map((one) => (isObject(one) ? { ...one, token: key } : one))),
);

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function itemsIn(value: object): number {
  if (Array.isArray(value)) return value.length;
  return "batch" in value && Array.isArray(value.batch) ? value.batch.length : 1;
}

type Wrap = [name: string, wrap: (bytes: Uint8Array) => Uint8Array];
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const wraps: Wrap[] = [
  ["", (bytes) => bytes],
  ["", (bytes) => bytes],
  ["gzip", (bytes) => gzipSync(bytes)],
  ["deflate", (bytes) => deflateSync(bytes)],
  ["br", (bytes) => brotliCompressSync(bytes)],
  ["zstd", (bytes) => zstdCompressSync(bytes)],
  ["base64", (bytes) => Buffer.from(Buffer.from(bytes).toString("base64"))],
  ["lz64", (bytes) => Buffer.from(LZString.compressToBase64(text(bytes)))],
  ["form", (bytes) => Buffer.from(`data=${encodeURIComponent(text(bytes))}`)],
];

/** Where, what, and how: a byte is changed, inserted or removed, or a range of bytes is repeated. */
const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.constantFrom("set", "put", "cut", "again"));

function changed(bytes: Uint8Array, changes: readonly [number, number, string][]): Uint8Array {
  let now = Buffer.from(bytes);
  for (const [place, value, how] of changes) {
    const at = now.length === 0 ? 0 : place % now.length;
    const rest = now.subarray(how === "put" || how === "again" ? at : at + 1);
    const middle = how === "cut" ? [] : how === "again" ? now.subarray(at, at + value) : [value];
    now = Buffer.concat([now.subarray(0, at), Buffer.from(middle), rest]);
  }
  return new Uint8Array(now);
}

const paths = [
  "/batch/",
  "/capture",
  "/e/?compression=gzip-js",
  "/i/v0/e/?verbose=1",
  "/engage/",
  "/track?_=1",
];
const types = ["application/json", "application/x-www-form-urlencoded", "text/plain", "nonsense/;;"];

/** A valid body, changed inside (as JSON) and outside (as wrapped bytes), with hints that may be wrong. */
export const mutated: fc.Arbitrary<Mutated> = fc
  .record({
    shape,
    inside: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 2 })),
    wrap: fc.constantFrom(...wraps),
    outside: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 3 })),
    path: fc.constantFrom(...paths),
    type: fc.constantFrom(...types),
    lie: fc.constantFrom("", "", "gzip", "br", "deflate", "lz64"),
  })
  .map(({ shape: value, inside, wrap: [name, wrap], outside, path, type, lie }) => {
    const json = changed(Buffer.from(JSON.stringify(value)), inside);
    const hint = lie || (name === "form" || name === "base64" ? "" : name);
    const whole = inside.length + outside.length === 0 && !lie;
    return {
      items: whole ? itemsIn(value) : undefined,
      path,
      headers: { "content-type": type, ...(hint && { "content-encoding": hint }) },
      body: changed(wrap(json), outside),
    };
  });

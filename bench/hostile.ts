// Bodies nobody sends by accident, each built to make one part of capture work hard.

import { bodyAround, eventTexts } from "./events.ts";
import { projectKey } from "./stand.ts";

/** Each of about `bytes`, by what is odd about it. */
export function hostileBodies(bytes: number): Record<string, Uint8Array> {
  const filled = (item: (i: number) => string) => {
    const items: string[] = [];
    for (let size = 0, i = 0; size < bytes; i++) {
      const next = item(i);
      items.push(next);
      size += Buffer.byteLength(next) + 1;
    }
    return bodyAround(items, projectKey);
  };
  const event = (properties: string, name = "odd", id = "someone") =>
    `{"event":"${name}","distinct_id":"${id}","properties":${properties}}`;
  const wide = (i: number, count: number, member: (n: number) => string) =>
    `{${Array.from({ length: count }, (_, n) => member(i * count + n)).join(",")}}`;
  const plain = eventTexts({ count: Math.ceil(bytes / 552) });
  return {
    normal: filled((i) => plain[i % plain.length]!),
    "nested 120 deep": filled(() =>
      event(`{"a":${"[".repeat(60)}${'{"b":'.repeat(60)}1${"}".repeat(60)}${"]".repeat(60)}}`),
    ),
    "nested 100,000 deep": filled(() => event(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)),
    "escapes everywhere": filled((i) =>
      event(
        wide(i, 8, (n) => `"\\u006b${n}":"${'\\u0041\\n\\\\\\"'.repeat(6)}"`),
        "\\u006f\\u0064d",
        "\\u0069d",
      ),
    ),
    "NUL and lone surrogates": filled((i) =>
      event(wide(i, 8, (n) => `"k${n}":"\\u0000\\ud800 and \\udc00"`)),
    ),
    "duplicate keys": filled(() => event(wide(0, 40, () => `"distinct_id":"x"`))),
    "duplicate members of an event": filled(
      () =>
        `{${'"event":"odd","distinct_id":"x","properties":{"distinct_id":"y"},'.repeat(10)}"event":"odd"}`,
    ),
    "tiny events": filled((i) => `{"event":"e","distinct_id":"${i}"}`),
    "tiny items that are none": filled(() => "{}"),
    "numbers instead of items": filled(() => "1"),
    "one string of 900 kB an event": filled(() => event(`{"a":"${"x".repeat(900_000)}"}`)),
    "one huge string": filled(() => event(`{"a":"${"x".repeat(bytes)}"}`)),
    "360 months": filled((i) => `${event("{}").slice(0, -1)},"timestamp":"${monthText(i)}"}`),
    "a name for every event": filled((i) => event("{}", `name ${i}`)),
    "ids that are numbers": filled((i) => `{"event":"e","distinct_id":${i}.5e3,"properties":{}}`),
    "long numbers": filled((i) => event(wide(i, 8, (n) => `"k${n}":-${"1234567890".repeat(6)}.${n}e-30`))),
    "white space": filled(() => event(`{${" \n\t\r".repeat(100)}}`)),
    "wide characters": filled((i) => event(wide(i, 8, (n) => `"ключ${n}":"靴と鞄😀é"`))),
    "cut off": bodyAround(plain, projectKey).subarray(0, -10),
    "not UTF-8 at its end": Buffer.concat([bodyAround(plain, projectKey), new Uint8Array([0xff])]),
  };
}

function monthText(i: number): string {
  return new Date(Date.UTC(1995, i % 360, 15)).toISOString();
}

import { expect, test } from "bun:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import LZString from "lz-string";
import { captureLimits } from "../../../src/capture/limits.ts";
import { readObjectKey, readRequestKey } from "../../../src/capture/receive/request_key.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import { MemoryBudget } from "../../../src/work/bodies/memory_budget.ts";
import { countTurns } from "../../support/turns.ts";

const memory = new MemoryBudget({ bytesMax: 64 << 20, shareBytesMax: 64 << 20 });
const asked = JSON.stringify({ token: "phc_k", distinct_id: "d", person_properties: { plan: "free" } });

async function tokenIn(
  path: string,
  body?: string | Uint8Array,
  headers: Record<string, string> = {},
  budget = memory,
): Promise<string | undefined> {
  const init = body === undefined ? {} : { method: "POST", body: body as string, headers };
  const found = await readRequestKey(new Request(`http://localhost${path}`, init), budget);
  expect(budget.held).toBe(0);
  return found;
}

test("the key is found in the query, in the body however it is wrapped, and in the query's data", async () => {
  expect(await tokenIn("/flags/?token=phc_k")).toBe("phc_k");
  expect(await tokenIn("/flags/", asked)).toBe("phc_k");
  expect(await tokenIn("/flags/", gzipSync(asked), { "content-type": "text/plain" })).toBe("phc_k");
  expect(await tokenIn("/flags/", brotliCompressSync(asked), { "content-encoding": "br" })).toBe("phc_k");
  const base64 = Buffer.from(asked).toString("base64");
  expect(await tokenIn("/decide/", `data=${encodeURIComponent(base64)}`)).toBe("phc_k");
  expect(await tokenIn("/decide/?compression=lz64", LZString.compressToBase64(asked))).toBe("phc_k");
  expect(await tokenIn(`/decide/?data=${encodeURIComponent(base64)}`)).toBe("phc_k");
  expect(await tokenIn("/flags/")).toBeUndefined();
  expect(await tokenIn("/flags/", "{")).toBeUndefined();
  expect(await tokenIn("/flags/", gzipSync(asked).subarray(0, 30))).toBeUndefined();
});

test("a person of half a megabyte of properties names its key, too", async () => {
  const text = JSON.stringify({
    distinct_id: "d",
    person_properties: Object.fromEntries(
      Array.from({ length: 25_000 }, (_, i) => [`key ${i}`, `value ${i}`]),
    ),
    token: "phc_k",
  });
  expect(text.length).toBeGreaterThan(500_000);
  expect(await tokenIn("/flags/", text)).toBe("phc_k");
  expect(await tokenIn("/flags/", gzipSync(text))).toBe("phc_k");
});

test("what inflates, or decodes, to more than such a body may have is given up: no key is looked for in it", async () => {
  const brackets = `[${"[],".repeat(1_000_000)}[]]`;
  const bytes = captureLimits.keyBodyInflatedBytesMax;
  const long = JSON.stringify({ token: "phc_k", more: "x".repeat(bytes) });
  const bombs: [string, string | Uint8Array | undefined, Record<string, string>][] = [
    ["/flags/", brotliCompressSync(Buffer.from(brackets)), { "content-encoding": "br" }],
    ["/flags/", gzipSync(brackets), {}],
    ["/decide/", gzipSync(gzipSync(brackets)), {}],
    ["/decide/", `data=${encodeURIComponent(gzipSync(brackets).toString("base64"))}`, {}],
    [`/decide/?data=${encodeURIComponent(gzipSync(brackets).toString("base64"))}`, undefined, {}],
    ["/flags/?compression=lz64", LZString.compressToBase64(long), {}],
    ["/flags/", gzipSync(long), {}],
    ["/flags/", long, {}],
  ];
  for (const [path, body, headers] of bombs) expect(await tokenIn(path, body, headers)).toBeUndefined();
});

test("without memory for the body the request is told to come again", async () => {
  const none = new MemoryBudget({ bytesMax: 10, shareBytesMax: 10 });
  await expect(tokenIn("/flags/", asked, {}, none)).rejects.toMatchObject({ code: "unavailable" });
  expect(none.held).toBe(0);
});

const ofObject = (text: string) => readObjectKey(toBytes(text));

test("SDKs' configuration requests name their key beside other members; the best known name counts", async () => {
  expect(await ofObject(`{"token":"k","distinct_id":"d","person_properties":{"token":"other"}}`)).toBe("k");
  expect(await ofObject(`{"person_properties":{"a":[{"token":"other"}]},"$token":"c","api_key":"b"}`)).toBe(
    "b",
  );
  expect(await ofObject(`{"api_key":"b","token":"a"}`)).toBe("a");
  expect(await ofObject(`{"token":"","api_key":null,"$token":"c"}`)).toBe("c");
  expect(await ofObject(` \n{ "tok\\u0065n" : "k" } `)).toBe("k");
  for (const text of ["", "7", "[]", '[{"token":"k"}]', "{", "{}", '{"a":"k"}', '{"token":7}', '{"token"']) {
    expect(await ofObject(text)).toBeUndefined();
  }
});

test("any megabyte is walked over in stretches, and others get their turn between them", async () => {
  const bytes = captureLimits.keyBodyInflatedBytesMax;
  const bodies = [
    `{"a":[${"[],".repeat(bytes / 3)}[]],"token":"k"}`,
    `{"a":"${"\\u0041".repeat(bytes / 6)}","token":"k"}`,
    `{${'"b":1,'.repeat(bytes / 6)}"token":"k"}`,
    `{"${"c".repeat(bytes)}":1,"token":"k"}`,
    `{${" ".repeat(bytes)}"token":"k"}`,
    `{"d":${"1".repeat(bytes)},"token":"k"}`,
  ];
  for (const body of bodies) {
    let key: string | undefined;
    const turns = await countTurns(async () => (key = await ofObject(body)));
    expect(key).toBe("k");
    expect(turns).toBeGreaterThanOrEqual(3);
  }
  expect(await ofObject("[".repeat(bytes))).toBeUndefined();
  expect(await ofObject('{"a":'.repeat(bytes / 5))).toBeUndefined();
});

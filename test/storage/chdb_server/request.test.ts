// Requests to the embedded ClickHouse, as ClickHouse's clients send them.

import { expect, test } from "bun:test";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { chdbServerLimits } from "../../../src/storage/chdb_server/limits.ts";
import { knows, readBounded, readRequest, ServerError } from "../../../src/storage/chdb_server/request.ts";

function requestOf(body: string | Uint8Array, headers: Record<string, string> = {}): IncomingMessage {
  return Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage;
}

const url = (search: Record<string, string> = {}) =>
  new URL(`http://127.0.0.1/?${new URLSearchParams(search).toString()}`);

async function codeOf(asking: Promise<unknown>): Promise<number> {
  const thrown = await asking.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown instanceof ServerError) return thrown.code;
  throw new Error("it was answered");
}

test("a statement is the query of the URL with a body of data, or else the body", async () => {
  const data = await readRequest(requestOf("rows"), url({ query: "INSERT INTO t FORMAT CSV" }));
  expect([data.text, (await readBounded(data.body!)).toString()]).toEqual([
    "INSERT INTO t FORMAT CSV",
    "rows",
  ]);
  const plain = await readRequest(requestOf("SELECT 1"), url());
  expect([plain.text, plain.body]).toEqual(["SELECT 1", undefined]);
});

test("parameters and settings are distinguished, and what concerns HTTP alone is neither", async () => {
  const ask = await readRequest(
    requestOf("SELECT {a:String}"),
    url({ param_a: "x", max_threads: "1", wait_end_of_query: "1", log_comment: "one", database: "d" }),
  );
  expect([...ask.params, ...ask.settings]).toEqual([
    ["a", "x"],
    ["max_threads", "1"],
  ]);
  expect(ask).toMatchObject({ tag: "one", database: "d", whole: true, format: "TabSeparated" });
});

test("a form brings the query and its parameters, of bounded size", async () => {
  const form = async (value: string) => {
    const fields = new FormData();
    fields.append("query", "SELECT {a:String}");
    fields.append("param_a", value);
    const sent = new Request("http://localhost", { method: "POST", body: fields });
    const headers = { "content-type": sent.headers.get("content-type")! };
    return await readRequest(requestOf(await sent.bytes(), headers), url());
  };
  const ask = await form("long");
  expect([ask.text, ask.params.get("a")]).toEqual(["SELECT {a:String}", "long"]);
  expect(await codeOf(form("x".repeat(chdbServerLimits.paramBytesMax + 1)))).toBe(1000);
});

test("compressed bodies are inflated, and other encodings are refused by name", async () => {
  for (const [encoding, body] of [
    ["gzip", gzipSync("SELECT 1")],
    ["zstd", zstdCompressSync("SELECT 1")],
  ] as const) {
    expect((await readRequest(requestOf(body, { "content-encoding": encoding }), url())).text).toBe(
      "SELECT 1",
    );
  }
  expect(await codeOf(readRequest(requestOf("x", { "content-encoding": "br" }), url()))).toBe(48);
  expect(await codeOf(readRequest(requestOf("x"), url({ compress: "1" })))).toBe(48);
});

test("an answer is packed where the client wants it and says so", async () => {
  const asked = { enable_http_compression: "1" };
  expect((await readRequest(requestOf("x", { "accept-encoding": "br, gzip" }), url(asked))).gzip).toBe(true);
  expect((await readRequest(requestOf("x", { "accept-encoding": "br" }), url(asked))).gzip).toBe(false);
  expect((await readRequest(requestOf("x", { "accept-encoding": "gzip" }), url())).gzip).toBe(false);
});

test("a statement longer than the bound is refused", async () => {
  const long = Buffer.alloc(chdbServerLimits.statementBytesMax + 1);
  expect(await codeOf(readRequest(requestOf(long), url()))).toBe(308);
});

test("the password is accepted in each of the three places that clients use, and no other user is", () => {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  const known = (headers: Record<string, string>, search = {}) =>
    knows(requestOf("", headers), url(search), "pass:word");
  expect(known(basic("default:pass:word"))).toBe(true);
  expect(known({ "x-clickhouse-user": "default", "x-clickhouse-key": "pass:word" })).toBe(true);
  expect(known({}, { user: "default", password: "pass:word" })).toBe(true);
  expect(known(basic("default:pass"))).toBe(false);
  expect(known(basic("other:pass:word"))).toBe(false);
  expect(known({})).toBe(false);
});

import { afterAll, expect, test } from "bun:test";
import { limits } from "../../../src/core/limits.ts";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import { openReader, readReplyRows } from "../../../src/storage/clickhouse/read.ts";

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
});

const slice = limits.replySliceBytes;

test("rows are read of lines, whatever their lengths and letters", async () => {
  const lengths = [0, 1, slice - 20, slice, slice + 1, 2 * slice + 3, 5, 0];
  for (const letter of ["a", "é", "🙂", '"', "\n"]) {
    const rows = lengths.map((length, i) => ({ i, text: letter.repeat(length) }));
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    expect(await readReplyRows<unknown>(new Response(text))).toEqual(rows);
    expect(await readReplyRows<unknown>(new Response(text.trimEnd()))).toEqual(rows);
  }
  expect(await readReplyRows<unknown>(new Response(""))).toEqual([]);
});

test("everybody else has turns while a long answer is read", async () => {
  const text = `${JSON.stringify({ text: "x".repeat(slice / 4) })}\n`.repeat(80);
  const reply = new Response(text);
  let turns = 0;
  let next = setImmediate(function again() {
    turns++;
    next = setImmediate(again);
  });
  expect(await readReplyRows<unknown>(reply)).toHaveLength(80);
  clearImmediate(next);
  expect(turns).toBeGreaterThanOrEqual(15);
});

test("a statement is asked with its settings and parameters, and these go where there is room", async () => {
  const seen: { url: URL; authorization: string | null; body: string; form: Record<string, string> }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const isForm = request.headers.get("content-type")?.startsWith("multipart/form-data") === true;
      const form = isForm ? Object.fromEntries(await request.formData()) : {};
      const body = isForm ? "" : await request.text();
      const authorization = request.headers.get("authorization");
      seen.push({ url: new URL(request.url), authorization, body, form: form as Record<string, string> });
      return new Response("answer");
    },
  });
  closers.push(() => void server.stop(true));
  const who = { username: "user", password: "pass:wörd", database: "sluice" };
  const read = openReader({
    origin: `http://127.0.0.1:${server.port}`,
    ...who,
    failure: (text) => new Error(text),
  });
  const asked = {
    text: "SELECT 1 FORMAT RawBLOB",
    settings: { max_threads: 1 },
    abort: new AbortController().signal,
  };
  const params = {
    s: "a'b\\c\n\t\r",
    n: -1.5,
    big: 2n ** 63n,
    b: true,
    no: null,
    list: ["a'", 1, [null, false]],
  };
  const texts = {
    param_s: "a\\'b\\\\c\\n\\t\\r",
    param_n: "-1.5",
    param_big: "9223372036854775808",
    param_b: "1",
    param_no: "\\N",
    param_list: "['a\\'',1,[NULL,FALSE]]",
  };
  expect(await read({ ...asked, params }, (reply) => reply.text())).toBe("answer");
  expect(Object.fromEntries(seen[0]!.url.searchParams)).toMatchObject({
    database: "sluice",
    max_threads: "1",
    ...texts,
  });
  expect(seen[0]!.body).toBe(asked.text);
  expect(Buffer.from(seen[0]!.authorization!.slice(6), "base64").toString()).toBe("user:pass:wörd");
  const long = "x".repeat(clickhouseLimits.clickhouseUrlCharsMax);
  await read({ ...asked, params: { ...params, long } }, (reply) => reply.text());
  const { searchParams } = seen[1]!.url;
  expect(Object.fromEntries(searchParams)).toMatchObject({ database: "sluice", max_threads: "1" });
  expect([...searchParams.keys()].filter((name) => name.startsWith("param_"))).toEqual([]);
  expect(seen[1]!.form).toEqual({ query: asked.text, ...texts, param_long: long });
  const odd = read({ ...asked, params: { odd: { not: "listed" } } }, (reply) => reply.text());
  await expect(odd).rejects.toThrow("no parameter of a statement can be object");
});

test("a connection that ends without an answer is followed by one of its own; a second end is reported", async () => {
  let ends = 0;
  let opened = 0;
  const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open: () => void opened++,
      data: (socket) => {
        if (ends-- > 0) socket.terminate();
        else socket.write(answer);
      },
    },
  });
  closers.push(() => void server.stop(true));
  const origin = `http://127.0.0.1:${server.port}`;
  const read = openReader({
    origin,
    username: "u",
    password: "p",
    database: "d",
    failure: (text) => new Error(text),
  });
  const ask = () =>
    read({ text: "SELECT 1", settings: {}, abort: new AbortController().signal }, (reply) => reply.text());
  ends = 1;
  expect(await ask()).toBe("ok");
  expect(opened).toBe(2);
  ends = 100;
  await expect(ask()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("a statement whose client left is killed and counted until it is gone, although a count fails", async () => {
  const asked: string[] = [];
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const text = await request.text();
      if (text.startsWith("KILL")) return new Response("");
      if (!text.includes("system.processes")) return await new Promise<Response>(() => {});
      asked.push(text);
      if (asked.length === 4) resolve();
      // The first count fails, as on a busy machine; then the statement is there, and then it is gone.
      return asked.length === 1
        ? new Response("", { headers: { "content-length": "5" } })
        : new Response(asked.length < 4 ? "1" : "0");
    },
  });
  closers.push(() => void server.stop(true));
  const killed = new Map<string, number>();
  const read = openReader({
    origin: `http://127.0.0.1:${server.port}`,
    username: "u",
    password: "p",
    database: "d",
    killed,
    failure: (text) => new Error(text),
  });
  const abort = new AbortController();
  const request = { text: "SELECT 1", settings: { max_execution_time: 3600 }, abort: abort.signal };
  const reading = read(request, (reply) => reply.text()).catch(() => "left");
  await Bun.sleep(50);
  abort.abort();
  expect(await reading).toBe("left");
  await gone;
  while (killed.size > 0) await Bun.sleep(1);
});

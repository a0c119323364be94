// The two helpers, against a server that speaks as OpenAI's does.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { silentLog } from "../../../src/core/log.ts";
import { openCompleting } from "../../../src/session_recordings/ai/completion.ts";
import { aiLimits } from "../../../src/session_recordings/ai/limits.ts";
import { isFilters, isRegex } from "../../../src/session_recordings/ai/model.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { personalKey, until } from "../../support/server.ts";

afterAll(cleanUp);

const base = "/api/environments/1/session_recordings/ai";

interface Asked {
  path: string;
  authorization: string | null;
  body: { model: string; messages: { role: string; content: string }[]; response_format: unknown };
}

let asked: Asked[] = [];
let answer: () => Response | Promise<Response>;
let app: RunningApp;
let unconfigured: RunningApp;

/** As the model says it. */
function saying(content: unknown): () => Response {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return () => Response.json({ choices: [{ message: { role: "assistant", content: text } }] });
}

beforeAll(async () => {
  const model = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const body = (await request.json()) as Asked["body"];
      asked.push({
        path: new URL(request.url).pathname,
        authorization: request.headers.get("authorization"),
        body,
      });
      return await answer();
    },
  });
  later(() => model.stop(true));
  app = await startApp({
    OPENAI_BASE_URL: `http://127.0.0.1:${model.port}/v1/`,
    OPENAI_API_KEY: "sk-secret",
    OPENAI_MODEL: "small",
  });
  unconfigured = await startApp();
});

beforeEach(() => {
  asked = [];
  answer = saying({});
});

async function post(
  path: string,
  body?: unknown,
  to = app,
): Promise<{ status: number; text: string; detail: unknown }> {
  const reply = await fetch(`${to.url}${base}/${path}/`, {
    method: "POST",
    headers: { authorization: `Bearer ${personalKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  const { detail } = (text.startsWith("{") ? JSON.parse(text) : {}) as { detail?: unknown };
  return { status: reply.status, text, detail };
}

const filters = {
  result: "filter",
  data: {
    date_from: "-7d",
    date_to: null,
    filter_group: {
      type: "AND",
      values: [
        {
          type: "AND",
          values: [{ key: "console_error_count", type: "recording", value: ["0"], operator: "gt" }],
        },
      ],
    },
  },
};
const messages = [{ role: "user", content: "visits with errors, last week" }];

test("without a prompt the answer is empty, with a model or without", async () => {
  for (const path of ["filters", "regex"]) {
    for (const body of [undefined, {}, { person: "x" }, { person: { a: [] } }]) {
      for (const to of [app, unconfigured]) {
        const { status, text } = await post(path, body, to);
        expect([status, text]).toEqual([200, ""]);
      }
    }
  }
  expect(asked).toEqual([]);
});

test("a model that repeats its key, or speaks in control characters, is answered without them", async () => {
  answer = saying({ result: "question", data: { question: "what is sk-secret\0? c2stc2VjcmV0\u001b[2J" } });
  const reply = await post("filters", { messages });
  expect([reply.status, JSON.parse(reply.text)]).toEqual([
    200,
    { result: "question", data: { question: "what is [hidden]\uFFFD? [hidden]\uFFFD[2J" } },
  ]);
  answer = saying({ result: "success", data: { output: "^/sk-secret/\ud800$" } });
  expect(JSON.parse((await post("regex", { regex: "the key" })).text)).toEqual({
    result: "success",
    data: { output: "^/[hidden]/\uFFFD$" },
  });
});

test("words become filters", async () => {
  answer = saying(filters);
  const reply = await post("filters", { messages });
  expect([reply.status, JSON.parse(reply.text)]).toEqual([200, filters]);
  expect(asked).toHaveLength(1);
  const [{ path, authorization, body }] = asked as [Asked];
  expect([path, authorization, body.model]).toEqual(["/v1/chat/completions", "Bearer sk-secret", "small"]);
  expect(body.response_format).toEqual({ type: "json_object" });
  expect(body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(body.messages.at(-1)).toEqual(messages[0]!);
  answer = saying({ result: "question", data: { question: "Which errors?" } });
  const conversation = [
    ...messages,
    { role: "assistant", content: "Which?" },
    { role: "user", content: "all" },
  ];
  expect((await post("filters", { messages: conversation })).status).toBe(200);
  expect(asked.at(-1)?.body.messages).toHaveLength(4);
});

test("words become a regular expression", async () => {
  answer = saying({ result: "success", data: { output: "^https?://[^/]+/blog/.+" } });
  const reply = await post("regex", { regex: "anything below /blog/" });
  expect([reply.status, JSON.parse(reply.text)]).toEqual([
    200,
    { result: "success", data: { output: "^https?://[^/]+/blog/.+" } },
  ]);
  expect(asked[0]?.body.messages.at(-1)).toEqual({ role: "user", content: "anything below /blog/" });
});

test("an answer that does not fit exactly is refused, and none of it shown", async () => {
  const wrong: [unknown, string][] = [
    ["no JSON at all secret", "Invalid JSON response from the language model"],
    [{ result: "filter", data: {} }, "Invalid response from the language model"],
    [{ ...filters, secret: 1 }, "Invalid response from the language model"],
    [[filters], "Invalid response from the language model"],
    ["null", "Invalid response from the language model"],
  ];
  for (const [content, detail] of wrong) {
    answer = saying(content);
    const reply = await post("filters", { messages });
    expect([reply.status, reply.detail]).toEqual([400, detail]);
    expect(reply.text).not.toContain("secret");
  }
  for (const body of [
    "{}",
    "[]",
    "garbage",
    '{"choices":[]}',
    '{"choices":[{"message":{"content":null}}]}',
  ]) {
    answer = () => new Response(body);
    expect((await post("regex", { regex: "x" })).detail).toBe("Invalid response from the language model");
  }
  answer = saying({ result: "success", data: { output: "(unclosed" } });
  expect((await post("regex", { regex: "x" })).status).toBe(400);
});

test("a model that is unavailable, refuses, redirects or does not stop is no failure of ours", async () => {
  const statuses: number[] = [];
  for (const reply of [
    () => new Response("the key sk-secret is wrong", { status: 401 }),
    () => new Response("overloaded", { status: 500 }),
    () => Response.redirect("http://127.0.0.1:1/", 307),
    () => new Response("x".repeat(300_000)),
  ]) {
    answer = reply;
    const { status, text } = await post("filters", { messages });
    statuses.push(status);
    expect(text).not.toContain("sk-secret");
  }
  expect(statuses).toEqual([503, 503, 503, 400]);
});

test("a key, an address or a model that is wrong is reported as the operator's to correct, without a retry", async () => {
  for (const status of [401, 403, 404]) {
    answer = () => new Response("the key sk-secret is wrong", { status });
    const reply = await post("filters", { messages });
    expect([reply.status, reply.text.includes("sk-secret")]).toEqual([503, false]);
    expect(String(reply.detail)).toContain("Its operator has to correct OPENAI_API_KEY");
    expect(String(reply.detail)).not.toContain("retry");
  }
});

test("without a model, a prompt is refused in words one can act on", async () => {
  for (const [path, body] of [
    ["filters", { messages }],
    ["regex", { regex: "x" }],
  ] as const) {
    const { status, detail } = await post(path, body, unconfigured);
    expect([status, detail]).toEqual([400, "OpenAI API key is not configured"]);
  }
});

test("invalid prompts are refused before any request", async () => {
  const long = { role: "user", content: "x".repeat(15_000) };
  for (const wrong of [
    null,
    "x",
    [],
    [{}],
    [{ role: "system", content: "x" }],
    [{ role: "user" }],
    [long, long],
  ])
    expect((await post("filters", { messages: wrong })).status).toBe(400);
  for (const regex of [null, "", "  ", {}, "x".repeat(20_001)])
    expect((await post("regex", { regex })).status).toBe(400);
  expect((await post("regex", { regex: "" })).detail).toBe("Missing required field: regex");
  expect(asked).toEqual([]);
});

test("exactly what a schema allows is an answer", () => {
  const group = (filter: object) => ({
    result: "filter",
    data: { filter_group: { type: "OR", values: [{ type: "AND", values: [filter] }] } },
  });
  const filter = { key: "email", type: "person", value: ["a"], operator: "icontains" };
  expect(isFilters(group(filter))).toBe(true);
  for (const odd of [{ operator: "like" }, { type: "sql" }, { value: "a" }, { key: "" }, { more: 1 }])
    expect(isFilters(group({ ...filter, ...odd }))).toBe(false);
  for (const date_from of ["-3d", "2026-01-31", "2026-01-31T10:00:00Z", null])
    expect(isFilters({ ...filters, data: { ...filters.data, date_from } })).toBe(true);
  for (const date_from of ["yesterday", "2026-01-31'; DROP", 5])
    expect(isFilters({ ...filters, data: { ...filters.data, date_from } })).toBe(false);
  expect(isFilters({ result: "question", data: { question: "?" } })).toBe(true);
  expect(isFilters({ result: "question", data: {} })).toBe(false);
  expect(isRegex({ result: "error", data: { output: "It cannot be said (so" } })).toBe(true);
  expect(isRegex({ result: "success", data: { output: "x".repeat(2001) } })).toBe(false);
});

test("a slow model gets a few requests at once of one project, and more of another", async () => {
  const held = Promise.withResolvers<void>();
  let asks = 0;
  const model = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      asks++;
      await held.promise;
      return saying(filters)();
    },
  });
  later(() => model.stop(true));
  const server = { url: `http://127.0.0.1:${model.port}/v1`, key: undefined, model: "small" };
  const ask = openCompleting(server, silentLog);
  const crowd = Array.from({ length: 100 }, () =>
    ask(1, messages).then(
      () => "answered",
      (thrown: unknown) => (thrown instanceof Fault ? thrown.code : "failed"),
    ),
  );
  expect(await Promise.race(crowd)).toBe("unavailable");
  await until(() => Promise.resolve(asks === aiLimits.completionsAtOnceMax / 2));
  const other = ask(2, messages);
  await until(() => Promise.resolve(asks === aiLimits.completionsAtOnceMax / 2 + 1));
  held.resolve();
  await other;
  const ends = await Promise.all(crowd);
  expect(ends.filter((end) => end === "answered").length).toBe(
    aiLimits.completionsAtOnceMax / 2 + aiLimits.completionsWaitingMax / 2,
  );
});

// A megabyte in any field of any management request holds nobody up: its checks are held to its length first, and
// take four times as long for four times the text, not sixteen times.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { readFormFields } from "../../src/http/body.ts";
import { checkFields } from "../../src/http/fields/field_check.ts";
import type { Rule } from "../../src/http/fields/field_rule.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { fastGrowth, filled } from "../support/growth.ts";
import { hostileTexts } from "../support/hostile_values.ts";
import { sendRaw } from "../support/raw.ts";
import { personalKey, projectKey } from "../support/server.ts";
import { writingsOf } from "../support/writings.ts";

let app: RunningApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(cleanUp);

test("a name of blanks between two letters is refused like any that is too long", async () => {
  const before = process.cpuUsage();
  const answer = await ask(app, "PATCH", "/api/projects/1/", { name: `a${" ".repeat(120_000)}b` });
  const { user } = process.cpuUsage(before);
  expect(problemOf(answer).slice(0, 3)).toEqual([400, "validation_error", "max_length"]);
  // Trimmed by an expression it took 17 seconds.
  expect(user).toBeLessThan(2_000_000);
});

test("no field's own check grows faster than its text", async () => {
  const kinds = Object.keys(hostileTexts(100));
  const texts = new Map<string, string>();
  const textOf = (kind: string) => (chars: number) => {
    const name = `${kind} ${chars}`;
    const text = texts.get(name) ?? hostileTexts(chars)[kind]!;
    texts.set(name, text);
    return text;
  };
  const fast: string[] = [];
  for (const { method, path, schema } of writingsOf(app)) {
    for (const field of Object.keys(schema.properties ?? {})) {
      const take = (value: unknown) => {
        try {
          checkFields(schema as Parameters<typeof checkFields>[0], { [field]: value }, "change");
        } catch {
          // Refused, as most are.
        }
      };
      for (const kind of kinds) {
        const whys = [
          await fastGrowth(textOf(kind), take),
          await fastGrowth(textOf(kind), (text) => take([text])),
          await fastGrowth(textOf(kind), (text) => take({ [text.slice(0, 1000)]: { value: text } })),
        ];
        for (const why of whys)
          if (why !== undefined) fast.push(`${method} ${path} ${field}, ${kind}: ${why}`);
      }
    }
  }
  expect(fast).toEqual([]);
});

test("a form is held to the bounds of JSON, its fields' JSON too", async () => {
  const send = async (body: string, key = personalKey) =>
    await fetch(`${app.url}/api/projects/1/insights/`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/x-www-form-urlencoded" },
      body,
    });
  const many = await send("a&".repeat(limits.managementPartsMax));
  expect(((await many.json()) as { detail: string }).detail).toBe(
    "Form parse error - more than 20000 fields",
  );
  const list = await send(`query=[${filled("0,", 900_000)}0]`);
  expect(((await list.json()) as { detail: string }).detail).toBe(
    "JSON parse error - more than 20000 elements",
  );
  const rule: Rule = { properties: { query: { type: "object" } } };
  expect(() => readFormFields(rule, new URLSearchParams({ query: "[".repeat(300) }))).toThrow(
    "nested deeper",
  );
  expect(readFormFields(rule, new URLSearchParams({ query: '{"a":1}' }))).toEqual({ query: { a: 1 } });
});

test("a head of a megabyte is never read: queries, paths and headers are short before any rule of ours", async () => {
  const long = "a".repeat(1 << 20);
  const statuses = await Promise.all(
    [
      [`GET /api/projects/1/events/?after=${long} HTTP/1.1`, "Host: h"],
      [`GET /static/${long} HTTP/1.1`, "Host: h"],
      ["GET /api/projects/1/ HTTP/1.1", "Host: h", `Authorization: Bearer ${long}`],
      ["GET /flags/ HTTP/1.1", "Host: h", `User-Agent: ${projectKey}${long}`],
    ].map((head) =>
      sendRaw(app.url, head).then(
        ({ status }) => status,
        () => 0,
      ),
    ),
  );
  // Refused by the runtime: 431, or 0 where it closes the connection while the rest is on its way.
  for (const status of statuses) expect([431, 0]).toContain(status);
});

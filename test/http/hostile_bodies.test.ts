// A megabyte in any field of any management request holds nobody up: its checks are held to its length first, and
// take four times as long for four times the text, not sixteen times.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { fieldsOfForm } from "../../src/http/body.ts";
import { checkFields } from "../../src/http/fields/field_check.ts";
import type { Rule } from "../../src/http/fields/field_rule.ts";
import { managementRoutes, type RunningApp, startApp } from "../support/app.ts";
import { ask, problemOf } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { fastGrowth, filled } from "../support/growth.ts";
import { hostileJson, hostileTexts } from "../support/hostile_values.ts";
import { sendRaw } from "../support/raw.ts";
import { personalKey, projectKey } from "../support/server.ts";

let app: RunningApp;
/** Ids of things there are, by the name of their list. */
const ids: Record<string, unknown> = {};

beforeAll(async () => {
  app = await startApp();
  const make = async (list: string, body: unknown) => {
    const made = await ask(app, "POST", `/api/projects/1/${list}/`, body);
    expect([list, made.status]).toEqual([list, 201]);
    ids[list] = made.body["id"];
  };
  await make("insights", { query: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "e" }] } });
  await make("dashboards", { name: "d" });
  await make("batch_exports", { name: "e", interval: "hour", destination: { type: "NoOp", config: {} } });
  await make("subscriptions", {
    target_type: "email",
    target_value: "a@example.com",
    frequency: "daily",
    start_date: "2024-01-01T00:00:00Z",
    insight: ids["insights"],
  });
});
afterAll(cleanUp);

interface Writing {
  method: string;
  path: string;
  schema: Rule;
}

/** Every request with a body, from the API's own description; not its second spelling for environments. */
function writings(): Writing[] {
  return managementRoutes(app).flatMap(({ method, path, hooks }) => {
    if (path.startsWith("/api/environments/")) return [];
    const { detail } = hooks as { detail?: { requestBody?: { content: Record<string, { schema: Rule }> } } };
    const schema = detail?.requestBody?.content["application/json"]?.schema;
    return schema ? [{ method, path, schema }] : [];
  });
}

/** The least that a field takes, for those that must be there beside a hostile one. */
function smallest(rule: Rule): unknown {
  const { anyOf: [first] = [], enum: choices, type, format, properties = {}, required = [] } = rule;
  if (first) return smallest(first);
  if (choices) return choices[0];
  if (format === "date-time") return "2030-01-01T00:00:00Z";
  if (type === "integer") return 1;
  if (type === "array") return [];
  if (type !== "object") return "a";
  return Object.fromEntries(required.map((name) => [name, smallest(properties[name] ?? {})]));
}

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
  for (const { method, path, schema } of writings()) {
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

/** Whether the field's own check lets the value through, so that its room has to bear it. */
function passes(schema: Rule, field: string, json: string): boolean {
  try {
    checkFields(
      schema as Parameters<typeof checkFields>[0],
      { [field]: JSON.parse(json) as unknown },
      "change",
    );
    return true;
  } catch {
    return false;
  }
}

test("no request takes longer than its length accounts for, whatever its fields' own checks let through", async () => {
  const largest = Object.entries(hostileJson(1_000_000));
  let sent = 0;
  const fast: string[] = [];
  // Exports of an organization and PUT are the same code as those of a project and PATCH.
  const asked = writings().filter(
    ({ method, path }) => method !== "PUT" && !path.startsWith("/api/organizations/:organization_id/batch"),
  );
  expect(asked.length).toBeGreaterThan(15);
  for (const { method, path, schema } of asked) {
    const address = path
      .replace(":organization_id", "@current")
      .replace(":project_id", "1")
      .replaceAll(/(\w+)\/:\w+/g, (_, list: string) => `${list}/${String(ids[list] ?? 1)}`);
    const needed = method === "PATCH" ? {} : (smallest(schema) as Record<string, unknown>);
    for (const field of Object.keys(schema.properties ?? {})) {
      const { [field]: _, ...rest } = needed;
      const head = JSON.stringify(rest).slice(0, -1);
      const start = `${head}${head.length > 1 ? "," : ""}"${field}":`;
      for (const [kind, json] of largest) {
        if (!passes(schema, field, json)) continue;
        sent++;
        const bodyOf = (chars: number) => {
          const value = hostileJson(
            Math.max(1000, Math.floor((chars - 1000) * (kind === "a long text" ? 0.7 : 0.98))),
          )[kind]!;
          return `${start}${value}}`;
        };
        const why = await fastGrowth(
          bodyOf,
          async (body) => {
            const { status, text } = await ask(app, method, address, body);
            if (status >= 500 || status === 413)
              fast.push(`${method} ${path} ${field}, ${kind}: ${text.slice(0, 200)}`);
          },
          [256, 1024],
        );
        if (why !== undefined) fast.push(`${method} ${path} ${field}, ${kind}: ${why}`);
      }
    }
  }
  expect(sent).toBeGreaterThan(50);
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
  expect(() => fieldsOfForm(rule, new URLSearchParams({ query: "[".repeat(300) }))).toThrow("nested deeper");
  expect(fieldsOfForm(rule, new URLSearchParams({ query: '{"a":1}' }))).toEqual({ query: { a: 1 } });
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

// Each management request with a megabyte in each of its fields: what a field's own check lets through, the rest of the
// request bears.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../../src/core/limits.ts";
import { checkFields } from "../../src/http/fields/field_check.ts";
import type { Rule } from "../../src/http/fields/field_rule.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { fastGrowth } from "../support/growth.ts";
import { hostileJson } from "../support/hostile_values.ts";
import { writingsOf } from "../support/writings.ts";

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

function memoized<Key, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => known.get(key) ?? known.set(key, compute(key)).get(key)!;
}

/** Whether the field's own check lets the value through, so that its room has to bear it. */
function passes(schema: Rule, field: string, value: unknown): boolean {
  try {
    checkFields(schema as Parameters<typeof checkFields>[0], { [field]: value }, "change");
    return true;
  } catch {
    return false;
  }
}

test("no request takes longer than its length accounts for, whatever its fields' own checks let through", async () => {
  const kinds = Object.entries(hostileJson).map(([kind, jsonOf]) => {
    // Quotes are two bytes each.
    const share = kind === "a long text" ? 0.7 : 0.98;
    // A body of more members is refused before its fields are checked.
    const checked: unknown = JSON.parse(
      jsonOf(kind.startsWith("a long") ? 1_000_000 : 2 * limits.managementPartsMax),
    );
    return { kind, checked, jsonOf: memoized((chars: number) => jsonOf(Math.floor((chars - 1000) * share))) };
  });
  let sent = 0;
  const fast: string[] = [];
  // Exports of an organization and PUT are the same code as those of a project and PATCH.
  const asked = writingsOf(app).filter(
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
      for (const { kind, checked, jsonOf } of kinds) {
        if (!passes(schema, field, checked)) continue;
        sent++;
        const bodyOf = (chars: number) => `${start}${jsonOf(chars)}}`;
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
  expect(sent).toBeGreaterThan(1000);
  expect(fast).toEqual([]);
});

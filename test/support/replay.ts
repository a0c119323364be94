// Requests of programs that cannot be installed here, replayed from fixtures of test/clients/tools/requests: in their
// order, with what earlier answers gave put into later requests. A step says what the program needs of the answer.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ask } from "./ask.ts";
import type { Listening } from "./server.ts";

const fixtures = resolve(import.meta.dir, "../clients/tools/requests");

export interface Sequence {
  program: string;
  version: string;
  steps: readonly Step[];
}

export interface Step {
  /** What the program is doing. */
  does: string;
  method: string;
  /** Names in braces, here and in the body, stand for what was kept. */
  path: string;
  body?: unknown;
  status: number;
  /** What the answer has at least. */
  has?: Record<string, unknown>;
  /** By name: what of the answer is kept, its fields joined by dots. */
  keeps?: Record<string, string>;
  /** How many rows there are when the list is read to its end by `next`, each once by its id. */
  rows?: number;
}

export function readSequence(name: string): Sequence {
  return JSON.parse(readFileSync(join(fixtures, `${name}.json`), "utf8")) as Sequence;
}

/** Asks everything of a sequence; `known` has what its placeholders begin with. */
export async function replay(
  server: Listening,
  { steps }: Sequence,
  known: Record<string, unknown> = {},
): Promise<void> {
  const kept = { ...known };
  for (const step of steps) {
    const path = put(kept, step.path) as string;
    const body = put(kept, step.body);
    const { status, body: answer, text } = await ask(server, step.method, path, body);
    const shown = status === step.status ? status : `${status} ${text.slice(0, 500)}`;
    const where = `${step.does}: ${step.method} ${path}`;
    expect([where, shown]).toEqual([where, step.status]);
    if (step.has) {
      expect({ does: step.does, ...answer }).toMatchObject({
        does: step.does,
        ...(put(kept, step.has) as object),
      });
    }
    for (const [name, field] of Object.entries(step.keeps ?? {})) kept[name] = valueAt(answer, field);
    if (step.rows !== undefined) {
      expect([step.does, await idsOf(server, answer)]).toEqual([step.does, step.rows]);
    }
  }
}

/** How many different ids a list has, which begins with this page. */
async function idsOf(server: Listening, first: Record<string, unknown>): Promise<number> {
  const ids: unknown[] = [];
  for (let page = first; ;) {
    // Rows of SQL are lists, whose first column is the id.
    const rows = page["results"] as (unknown[] | { id: unknown })[];
    ids.push(...rows.map((row) => (Array.isArray(row) ? row[0] : row.id)));
    const next = page["next"];
    if (typeof next !== "string") break;
    const { pathname, search } = new URL(next);
    page = (await ask(server, "GET", `${pathname}${search}`)).body;
  }
  expect(new Set(ids).size).toBe(ids.length);
  return ids.length;
}

/** A text that is one placeholder becomes what was kept as it is; within a text it becomes text. */
function put(kept: Record<string, unknown>, value: unknown): unknown {
  if (typeof value === "string") {
    const [, whole] = /^\{(\w+)\}$/.exec(value) ?? [];
    if (whole !== undefined && whole in kept) return kept[whole];
    return value.replaceAll(/\{(\w+)\}/g, (text, name: string) => (name in kept ? String(kept[name]) : text));
  }
  if (Array.isArray(value)) return value.map((one) => put(kept, one));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, put(kept, inner)]));
}

function valueAt(answer: unknown, field: string): unknown {
  return field.split(".").reduce((value, name) => (value as Record<string, unknown>)[name], answer);
}

// Events of a project to ask in SQL, beside another project with the same: what is asked must never count both.

import {
  type CompiledSelect,
  compileSelect,
  type SqlContext,
} from "../../../src/query/sql/compile/compile.ts";
import type { Stores } from "../../../src/storage/stores.ts";
import { openTestParser } from "../../support/sql_parser.ts";
import { openMadeStores } from "../../support/stores.ts";
import { type NaiveEvent, storeEvents } from "../naive.ts";

export const dayMs = 86_400_000;
const start = Date.UTC(2024, 2, 1);
export const zone = "Europe/Berlin";

const names = ["$pageview", "signup", "purchase", "$pageview"];

/** Twelve days of events of seven persons, each an hour and eleven minutes after the one before. */
export const madeEvents: NaiveEvent[] = Array.from({ length: 240 }, (_, i) => ({
  uuid: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
  event: names[i % 4]!,
  distinct_id: `u${i % 7}`,
  at: start + i * 71 * 60_000,
  properties: {
    $browser: ["Chrome", "Safari", "Firefox"][i % 3],
    $current_url: `https://example.com/${i % 2 ? "docs" : "pricing"}/?page=${i}`,
    ...(i % 5 === 0 ? {} : { plan: i % 2 ? "free" : "" }),
    amount: i % 9 === 0 ? "none" : i % 11 === 0 ? null : i,
    is_new: i % 2 === 0,
    nested: { deep: { number: i } },
    tags: ["a", `b${i % 2}`],
    $session_id: `s${i % 6}`,
  },
}));

export interface SqlWorld {
  stores: Stores;
  /** @throws SqlProblem */
  compile: (text: string, context?: Partial<SqlContext>) => Promise<CompiledSelect>;
  /** The rows, as arrays in the order of the columns. */
  ask: (text: string, context?: Partial<SqlContext>) => Promise<unknown[][]>;
}

const openedAt = start + 13 * dayMs;

export function openCompiler(): SqlWorld["compile"] {
  const parser = openTestParser();
  return async (text, context = {}) => {
    const tree = await parser.parse(text, "select", 1);
    return compileSelect(tree, { project_id: 1, timezone: zone, now: openedAt, text, ...context });
  };
}

export async function openSqlWorld(): Promise<SqlWorld> {
  const stores = await openMadeStores();
  for (const project_id of [1, 2]) await storeEvents(stores, project_id, madeEvents);
  const compile = openCompiler();
  const ask: SqlWorld["ask"] = async (text, context) => {
    const { statement, parameters } = await compile(text, context);
    const rows = await stores.clickhouse.query<Record<string, unknown>>(statement, parameters);
    return rows.map((row) => Object.values(row));
  };
  return { stores, compile, ask };
}

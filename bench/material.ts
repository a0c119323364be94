// The same events in every shape that a contestant takes: bodies of /batch, lines of JSON, Native blocks. As files,
// so that no process has to hold what another one sends.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { quoteText } from "../src/storage/statement.ts";
import { type EventPlan, bodyAround, eventTexts } from "./events.ts";
import { type EngineStand, emptyTables, projectKey } from "./stand.ts";

export interface Bodies {
  paths: string[];
  /** Of all of them together. */
  bytes: number;
  events: number;
}

/** About what an event takes in a body. */
export const eventBytes = 548;

export interface BodiesPlan extends Omit<EventPlan, "count" | "first"> {
  /** How many bodies, and how large about. */
  count: number;
  bytes: number;
  /** The project of each. */
  keys?: string[];
  /** Other uuids than bodies with another one. */
  first?: number;
}

/** Writes bodies of /batch, and beside each the same events as lines. No event is in two of them. */
export function writeBodies(folder: string, plan: BodiesPlan): Bodies {
  mkdirSync(folder, { recursive: true });
  const { count, bytes, keys = [projectKey], first = 0, ...rest } = plan;
  const each = Math.max(1, Math.round(bytes / eventBytes));
  let written = 0;
  const paths = Array.from({ length: count }, (_, i) => {
    const events = eventTexts({ count: each, first: first + i * each, ...rest });
    const path = join(folder, `${i}.json`);
    const body = bodyAround(events, keys[i % keys.length]!);
    written += body.length;
    writeFileSync(path, body);
    writeFileSync(linesPathOf(path), `${events.join("\n")}\n`);
    return path;
  });
  return { paths, bytes: written, events: each * count };
}

export function linesPathOf(path: string): string {
  return path.replace(/\.json$/, ".jsonl");
}

const columns =
  "uuid, project_id, event, distinct_id, properties, timestamp, created_at, historical_migration, _batch, _row";

/** A SELECT of table rows from a file of lines, read by the engine's own JSON reader. */
function rowsOf(linesPath: string, batch: number): string {
  const structure =
    "uuid UUID, event String, distinct_id String, properties String, timestamp DateTime64(6, 'UTC')";
  const file = `file(${quoteText(linesPath)}, 'JSONEachRow', ${quoteText(structure)})`;
  return `SELECT uuid, 1 AS project_id, event, distinct_id, properties, timestamp, now64(6) AS created_at,
    true AS historical_migration, ${batch} AS _batch, rowNumberInAllBlocks() AS _row FROM ${file}`;
}

const jsonSettings = {
  date_time_input_format: "best_effort",
  async_insert: 0,
  insert_deduplicate: 0,
} as const;

/** E: the engine reads JSON by itself and stores it. */
export async function insertLines({ stores }: EngineStand, linesPath: string, batch: number): Promise<void> {
  const text = `INSERT INTO event_rows (${columns}) ${rowsOf(linesPath, batch)}`;
  await stores.clickhouse.command(text, undefined, { settings: jsonSettings, timeoutMs: 120_000 });
}

/** Writes each body's events as Native, one file for each, where the engine may read them by name. */
export async function writeNative(engine: EngineStand, bodies: Bodies): Promise<string[]> {
  const folder = join(engine.dataDir, "native");
  mkdirSync(folder, { recursive: true });
  const paths: string[] = [];
  for (const [i, path] of bodies.paths.entries()) {
    await insertLines(engine, linesPathOf(path), i);
    const native = join(folder, `${i}.native`);
    await Bun.write(native, await nativeOf(engine, `SELECT ${columns} FROM event_rows WHERE _batch = ${i}`));
    paths.push(native);
  }
  await emptyTables(engine.stores);
  return paths;
}

async function nativeOf({ clickhouseUrl }: EngineStand, select: string): Promise<Uint8Array> {
  const { host, username, password, pathname } = new URL(clickhouseUrl);
  const authorization = `Basic ${btoa(`${username}:${password}`)}`;
  const search = new URLSearchParams({
    default_format: "Native",
    database: pathname.slice(1),
    wait_end_of_query: "1",
    max_block_size: "1000000",
    preferred_block_size_bytes: "1000000000",
  });
  const reply = await fetch(`http://${host}/?${search}`, {
    method: "POST",
    headers: { authorization },
    body: select,
  });
  if (!reply.ok) throw new Error(await reply.text());
  return new Uint8Array(await reply.arrayBuffer());
}

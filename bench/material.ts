// A run's events in every form that a contestant takes: bodies of /batch, lines of JSON, Native blocks. They are
// files, so that no process holds what another one sends.

import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { quoteText } from "../src/storage/clickhouse/statement.ts";
import { bodyAround, captureAround, eventBytesOf, type EventPlan, eventTexts } from "./events.ts";
import type { Pack } from "./load.ts";
import { emptyTables, type EngineStand, projectKey } from "./stand.ts";

export interface Bodies {
  pack: Pack;
  /** Bytes of all of them together. */
  bytes: number;
  events: number;
  /** Files of the same events as lines, one for each body; empty unless `lines` is set. */
  lines: string[];
}

export interface BodiesPlan extends Omit<EventPlan, "count"> {
  /** How many bodies, and how large about. */
  count: number;
  bytes: number;
  /** The projects, in turn. */
  keys?: string[];
  /** Whether to write lines as well. */
  lines?: boolean;
  /** Single events for /capture; /batch unless told. */
  single?: boolean;
}

/** Writes bodies. No event is in two of them. */
export function writeBodies(folder: string, plan: BodiesPlan): Bodies {
  mkdirSync(folder, { recursive: true });
  const { count, bytes, keys = [projectKey], lines = false, single = false, first = 0, ...rest } = plan;
  const each = single ? 1 : Math.max(1, Math.round(bytes / eventBytesOf(plan)));
  const linesPaths: string[] = [];
  const pack = openPack(join(folder, `${crypto.randomUUID()}.pack`));
  for (let i = 0; i < count; i++) {
    const events = eventTexts({ count: each, first: first + i * each, ...rest });
    const key = keys[i % keys.length]!;
    pack.add(single ? captureAround(events[0]!, key) : bodyAround(events, key));
    if (!lines) continue;
    linesPaths.push(join(folder, `${i}.jsonl`));
    writeFileSync(linesPaths.at(-1)!, `${events.join("\n")}\n`);
  }
  return { ...pack.close(), events: each * count, lines: linesPaths };
}

/** Writes bodies that the caller made. */
export function writePack(folder: string, bodies: Uint8Array[]): { pack: Pack; bytes: number } {
  mkdirSync(folder, { recursive: true });
  const pack = openPack(join(folder, `${crypto.randomUUID()}.pack`));
  for (const body of bodies) pack.add(body);
  return pack.close();
}

function openPack(path: string) {
  const file = openSync(path, "wx");
  const ends: number[] = [];
  let bytes = 0;
  const add = (body: Uint8Array): void => {
    writeSync(file, body);
    bytes += body.length;
    ends.push(bytes);
  };
  const close = () => {
    closeSync(file);
    return { pack: { path, ends }, bytes };
  };
  return { add, close };
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
export async function insertLines(
  { stores }: EngineStand,
  linesPath: string,
  batch: number,
  table = "event_rows",
): Promise<void> {
  const text = `INSERT INTO ${table} (${columns}) ${rowsOf(linesPath, batch)}`;
  await stores.clickhouse.command(text, undefined, { settings: jsonSettings, timeoutMs: 120_000 });
}

/**
 * Writes each body's events as Native, one file for each, where the engine may read them by name: in the order in which
 * they came, or sorted as they are stored, which spares the engine the sorting.
 */
export async function writeNative(
  engine: EngineStand,
  bodies: Bodies,
  order: "came" | "rest" = "came",
): Promise<string[]> {
  const folder = join(engine.dataDir, order);
  const by =
    order === "came" ? "_row" : "project_id, toDate(timestamp), event, cityHash64(distinct_id), uuid";
  mkdirSync(folder, { recursive: true });
  const paths: string[] = [];
  for (const [i, path] of bodies.lines.entries()) {
    await insertLines(engine, path, i);
    const native = join(folder, `${i}.native`);
    const select = `SELECT ${columns} FROM event_rows WHERE _batch = ${i} ORDER BY ${by}`;
    await Bun.write(native, await nativeOf(engine, select));
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

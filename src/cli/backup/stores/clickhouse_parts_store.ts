// The parts of the embedded ClickHouse's tables: frozen, which are hard links made at once, and attached again.

import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { deriveAgain, deriveStored } from "../../../capture/store.ts";
import { UserError } from "../../../core/fault.ts";
import { wordsIn } from "../../../core/words.ts";
import type { ClickHouse } from "../../../storage/clickhouse/clickhouse.ts";
import { backupLimits } from "../limits.ts";

/** The folder of frozen parts below DATA_DIR, of backups only. */
const frozenBelow = "clickhouse/shadow";
/** The name under which a backup freezes; there is one at a time. */
const frozenName = "sluice_backup";

/**
 * Tables that are not copied: those that migrations fill, mirrors of Postgres, which a restore fills again, and
 * temporary ones.
 */
const leftOut: ReadonlySet<string> = new Set(
  wordsIn("schema_migrations store_identity merged_ids group_type_rows deleting_ids exported_person_rows"),
);

/** Tables from which others are derived, frozen last: deriveSince() derives what the others lack. */
const sources = ["event_rows", "snapshot_chunks"];

export interface PartTable {
  name: string;
  /** Below DATA_DIR/clickhouse. */
  folder: string;
}

/** The tables that are copied, sources last. */
export async function listPartTables(clickhouse: ClickHouse): Promise<PartTable[]> {
  const found = await clickhouse.query<{ name: string; path: string }>(
    `SELECT name, data_paths[1] AS path FROM system.tables
     WHERE database = {database:String} AND engine LIKE '%MergeTree' ORDER BY name`,
    { database: clickhouse.database },
  );
  const tables = found
    .filter(({ name }) => !leftOut.has(name))
    .map(({ name, path }) => ({ name, folder: path.slice(path.lastIndexOf("/store/") + 1) }));
  return tables.toSorted((a, b) => sources.indexOf(a.name) - sources.indexOf(b.name));
}

/** Freezes the tables one after the other: links of the parts that each has at its moment, which it lists. */
export async function freeze(clickhouse: ClickHouse, dataDir: string, tables: readonly PartTable[]) {
  const parts: { name: string; path: string }[] = [];
  for (const { name, folder } of tables) {
    await clickhouse.command(`ALTER TABLE ${clickhouse.tables.local(name)} FREEZE WITH NAME '${frozenName}'`);
    const frozen = join(dataDir, frozenBelow, frozenName, folder);
    // A table that has never had a row has no folder there.
    const names = existsSync(frozen) ? await readdir(frozen) : [];
    parts.push(...names.map((part) => ({ name: `${name}/${part}`, path: join(frozen, part) })));
  }
  return parts;
}

/** Holds files that a backup into a bucket cannot send directly; thaw() also removes those of a killed backup. */
export function stagingFolder(dataDir: string): string {
  return join(dataDir, frozenBelow, "sluice_backup_files");
}

/** Deletes frozen parts, also those of an earlier backup: they use the disk space of removed parts. */
export async function thaw(dataDir: string): Promise<void> {
  await rm(join(dataDir, frozenBelow), { recursive: true, force: true });
}

/** The folder into which a table's parts are copied for attach(). */
export function detachedFolder(dataDir: string, { folder }: PartTable): string {
  return join(dataDir, "clickhouse", folder, "detached");
}

/** Makes the parts in its detachedFolder() the table's. @throws UserError when the engine leaves one there. */
export async function attach(clickhouse: ClickHouse, dataDir: string, table: PartTable): Promise<void> {
  await clickhouse.command(`ALTER TABLE ${clickhouse.tables.local(table.name)} ATTACH PARTITION ALL`);
  const [part] = await readdir(detachedFolder(dataDir, table));
  if (part !== undefined) throw new UserError(`ClickHouse does not take the part ${part} of ${table.name}`);
}

/**
 * Derives rows that arrived from `since` (ms) on again: tables were frozen one after the other, and an INSERT fills its
 * views one after the other.
 */
export async function deriveSince(clickhouse: ClickHouse, since: number): Promise<void> {
  for (const table of sources) {
    const found = await clickhouse.query<{ batch: string }>(
      `SELECT DISTINCT _batch AS batch FROM {table:Identifier}
       WHERE created_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') ORDER BY batch`,
      { table, since },
    );
    const batches = found.map(({ batch }) => BigInt(batch));
    for (let at = 0; at < batches.length; at += backupLimits.batchesAtOnce) {
      const some = batches.slice(at, at + backupLimits.batchesAtOnce);
      await deriveAgain(clickhouse, table, some);
      if (table === "event_rows") await deriveStored(clickhouse, some);
    }
  }
}

/** The counts of a restored backup. */
export async function countRestoredRows(clickhouse: ClickHouse) {
  const [counts] = await clickhouse.query<Record<"events" | "recordings", string>>(
    `SELECT (SELECT count() FROM event_rows) AS events,
       (SELECT uniq(session_id) FROM snapshot_chunks) AS recordings`,
  );
  return { events: Number(counts!.events), recordings: Number(counts!.recordings) };
}

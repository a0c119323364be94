// Puts what was archived since a backup began into the restored journals, from which the next start stores it: what
// ClickHouse has is found by its batches. What was deleted since is deleted again.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { captureSetup } from "../../../capture/capture_journal.ts";
import { Ledger } from "../../../capture/journal/ledger.ts";
import { readSegmentMillis, returnedSuffix } from "../../../capture/journal/segments/segment.ts";
import { readSegment } from "../../../capture/journal/segments/segment_reader.ts";
import { leftBehind } from "../../../capture/workers/worker_pool.ts";
import type { Config } from "../../../config.ts";
import { restoreOrders } from "../../../persons/deletion/archive_store.ts";
import { removeProject } from "../../../projects/store.ts";
import { readPostgresId } from "../../../storage/identity.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { backupLimits } from "../limits.ts";
import type { Manifest } from "../manifest.ts";
import { raiseSequences } from "../stores/postgres_rows_store.ts";
import { archiveBeside, type ArchivePlace } from "./archive_place.ts";
import { unpackBundle } from "./bundle.ts";

/** For restoreBackup(). @param added gets lines for the operator. */
export function archiveAdder({ dataDir, bucketAccess }: Config, source: string, added: string[]) {
  return async (sql: Postgres, { begun_at }: Manifest) => {
    const place = archiveBeside(source, bucketAccess, (await readPostgresId(sql))!);
    added.push(...(await restoreArchive(place, resolve(dataDir), sql, Date.parse(begun_at))));
  };
}

/**
 * @param begun when the backup began, in ms since 1970: what was stored before is in it.
 * @returns lines for the operator: how much was added, until when, and what is missing.
 */
async function restoreArchive(place: ArchivePlace, dataDir: string, sql: Postgres, begun: number) {
  const since = begun - backupLimits.derivedAgainMs;
  const { io } = captureSetup;
  const home = join(dataDir, "journal");
  const folders = [dataDir, ...leftBehind(dataDir, 1)].map((own) => join(own, "journal"));
  // A segment that still grew when it was copied is written over by the whole one.
  const copied = new Map(
    folders
      .filter((folder) => io.exists(folder))
      .flatMap((folder) => io.list(folder).map((name) => [name, folder])),
  );
  const [added, omitted, gaps]: [Set<string>, Set<string>, string[]] = [new Set(), new Set(), []];
  const sequences: Record<string, string> = {};
  const names = await place.list(since);
  for (const name of names) {
    const packed = await place.get(name);
    const bundle = packed && (await unpackBundle(packed).catch(() => undefined));
    if (!bundle) {
      gaps.push(`${name} is damaged`);
      continue;
    }
    const before = bundle.previous;
    if (!names.includes(before) && Number.parseInt(before, 10) > begun)
      gaps.push(`nothing is known of ${isoTime(before)} to ${isoTime(name)}`);
    for (const piece of bundle.pieces) {
      const folder = copied.get(piece.name);
      if (folder === undefined && readSegmentMillis(piece.id) < since) continue;
      if (piece.content.length === 0) {
        omitted.add(piece.name);
        continue;
      }
      io.makeFolder(folder ?? home);
      await writeAt(join(folder ?? home, piece.name), piece.content, piece.offset);
      added.add(piece.name);
    }
    await restoreOrders(
      sql,
      bundle.orders.filter(({ ordered_at }) => Number(ordered_at) >= since * 1000),
    );
    for (const id of bundle.gone) await removeProject(sql, id);
    Object.assign(sequences, bundle.sequences);
  }
  await raiseSequences(sql, sequences);
  if (omitted.size > 0) gaps.push(`${omitted.size} segments were not archived`);
  if (added.size > 0) for (const folder of new Set([home, ...copied.values()])) await rewriteLedger(folder);
  if (names.length === 0) return ["nothing was archived since"];
  const until = isoTime(names.at(-1)!);
  const total = `added ${added.size} archived segments, sent until ${until}; the next start stores them`;
  return [total, ...gaps.map((gap) => `the archive has a gap: ${gap}`)];
}

/** The time with which a bundle's name begins. */
function isoTime(name: string): string {
  return new Date(Math.min(Number.parseInt(name, 10), 8.64e15)).toISOString();
}

async function writeAt(path: string, bytes: Uint8Array, offset: number): Promise<void> {
  await using file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
  }
}

/** Lists the segments in the folder as they are now. */
async function rewriteLedger(folder: string): Promise<void> {
  const { io } = captureSetup;
  const names = io.list(folder).filter((name) => name.endsWith(".segment") && !name.endsWith(returnedSuffix));
  const waiting = names.toSorted().flatMap((name) => {
    const read = readSegment(captureSetup, join(folder, name));
    return read && read.segment.rows > 0 ? [read.segment] : [];
  });
  const ledger = new Ledger(captureSetup, folder);
  const { lastMillis } = ledger.read();
  ledger.restart(Math.max(lastMillis, ...waiting.map(({ id }) => readSegmentMillis(id))), waiting);
  await ledger.close();
  io.remove(join(folder, "synced"));
}

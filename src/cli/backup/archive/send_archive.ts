// Sends what the journal has stored, and which persons and projects were deleted, to the archive.

import { readFileSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { captureSetup } from "../../../capture/capture_journal.ts";
import { writeDurably, writeDurablyNow } from "../../../capture/journal/journal_io.ts";
import {
  listWaiting,
  spoolFolder,
  type WaitingFile,
} from "../../../capture/journal/segments/segment_spool.ts";
import type { Config } from "../../../config.ts";
import { systemClock } from "../../../core/clock.ts";
import { UserError } from "../../../core/fault.ts";
import { toReason } from "../../../core/log.ts";
import * as deleted from "../../../persons/deletion/archive_store.ts";
import { readPostgresId } from "../../../storage/identity.ts";
import type { Uses } from "../../../storage/services.ts";
import { intervalWorker, type Worker } from "../../../work/interval.ts";
import type { BackupCollection } from "../backup_collection.ts";
import { backupLimits } from "../limits.ts";
import { readSequences } from "../stores/postgres_rows_store.ts";
import { openCollection } from "../write_backup.ts";
import { ArchivePlace } from "./archive_place.ts";
import { type BundleHead, packBundle, readBundleTime, timePrefix } from "./bundle.ts";

interface ArchiverOptions extends Uses<"sql" | "clock" | "log"> {
  dataDir: string;
  collection: BackupCollection;
}

/** For the server; undefined where nothing is archived. @throws UserError for a setting that is no place. */
export function openArchiver({ dataDir, journalArchive: target, bucketAccess }: Config) {
  if (target === undefined) return undefined;
  const collection = openCollection(resolve(dataDir), target, bucketAccess);
  return (parts: Uses<"sql" | "log"> & { dataDir: string }): Worker => {
    const archiver = new Archiver({ ...parts, collection, clock: systemClock });
    return intervalWorker(backupLimits.archiveMs, "archiving the journal", () => archiver.send(), parts.log);
  };
}

type Content = Pick<BundleHead, "pieces" | "orders" | "gone">;

export class Archiver {
  readonly #options: ArchiverOptions;
  /** Orders whose ids are in the archive, and in Postgres. */
  readonly #orders = new Set<string>();
  readonly #gone = new Set<number>();
  readonly #lastPath: string;
  /** The name of the last bundle. */
  #last: string;
  #place: ArchivePlace | undefined;

  /** To be called before anything is flushed. */
  constructor(options: ArchiverOptions) {
    this.#options = options;
    const folder = spoolFolder(options.dataDir);
    this.#lastPath = `${folder}/last`;
    this.#last = timePrefix(options.clock.now());
    const { io } = captureSetup;
    try {
      io.makeFolder(folder);
      if (io.exists(this.#lastPath)) this.#last = readFileSync(this.#lastPath, "latin1");
      else writeDurablyNow(io, this.#lastPath, this.#last);
    } catch (thrown) {
      options.log.warn("the archive begins anew", { reason: toReason(thrown) });
    }
  }

  /** Sends all that waits now. A kill repeats the last bundle at worst. */
  async send(): Promise<void> {
    const { sql } = this.#options;
    const ids = new Set<string>();
    for (let after: deleted.ArchivedId | undefined; ;) {
      const orders = await deleted.readOrderedIds(sql, this.#orders, after);
      after = orders.at(-1);
      if (!after) break;
      await this.#put({ pieces: [], orders, gone: [] });
      for (const { id } of orders) ids.add(id);
    }
    for (const id of ids) this.#orders.add(id);
    const gone = await deleted.readGoneProjects(sql, this.#gone);
    if (gone.length > 0) await this.#put({ pieces: [], orders: [], gone });
    for (const id of gone) this.#gone.add(id);
    await this.#sendSegments();
    for (const id of await deleted.forgetArchived(sql, this.#orders)) this.#orders.delete(id);
  }

  async #sendSegments(): Promise<void> {
    let [pieces, contents, done]: [Content["pieces"], Uint8Array[], string[]] = [[], [], []];
    let room: number = backupLimits.objectBytes;
    const put = async () => {
      if (pieces.length > 0) await this.#put({ pieces, orders: [], gone: [] }, contents);
      for (const path of done) await rm(path, { force: true });
      [pieces, contents, done, room] = [[], [], [], backupLimits.objectBytes];
    };
    for (const file of listWaiting(captureSetup.io, spoolFolder(this.#options.dataDir))) {
      let offset = 0;
      do {
        const content = await readPiece(file, offset, room);
        pieces.push({ name: file.name, offset, bytes: content.length });
        contents.push(content);
        offset += content.length;
        room -= content.length;
        if (room === 0) await put();
        // Damage that the journal has reported.
        if (content.length === 0) break;
      } while (offset < file.bytes);
      done.push(file.path);
    }
    await put();
  }

  async #put(content: Content, contents: readonly Uint8Array[] = []): Promise<void> {
    const { sql, clock, collection } = this.#options;
    const id = await readPostgresId(sql);
    if (id === undefined) throw new UserError("the database has no identity");
    this.#place ??= new ArchivePlace(collection, id);
    const head = { previous: this.#last, sequences: await readSequences(sql), ...content };
    const at = Math.max(clock.now(), (readBundleTime(this.#last) ?? 0) + 1);
    this.#last = await this.#place.put(at, await packBundle(head, contents));
    // An older name there only makes two bundles follow one.
    await writeDurably(captureSetup.io, this.#lastPath, this.#last).catch(() => {});
  }
}

/** Its next bytes, as many as there is room for. */
async function readPiece({ path, bytes }: WaitingFile, offset: number, room: number): Promise<Uint8Array> {
  await using file = await open(path, "r");
  const piece = new Uint8Array(Math.min(room, bytes - offset));
  for (let got = 0; got < piece.length;) {
    const { bytesRead } = await file.read(piece, got, piece.length - got, offset + got);
    if (bytesRead === 0) return piece.subarray(0, got);
    got += bytesRead;
  }
  return piece;
}

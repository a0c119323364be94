// Opens and closes capture: journal, flush and watermark. Needs Postgres only at the first start, but flushes nothing
// before Postgres has confirmed the journal's number.

import { mkdirSync } from "node:fs";
import { withinMs } from "../core/clock.ts";
import { limits } from "../core/limits.ts";
import { type Log, toReason } from "../core/log.ts";
import { followGroupTypes, KnownGroupTypes } from "../persons/group_types.ts";
import type { Applied } from "../persons/store.ts";
import { statementsUntil } from "../storage/clickhouse/clickhouse.ts";
import { embeddedAddress } from "../storage/embedded/connection.ts";
import { onlyWithId } from "../storage/identity.ts";
import type { Uses } from "../storage/services.ts";
import type { Stores } from "../storage/stores.ts";
import { type IntervalTask, startInterval } from "../work/interval.ts";
import { CaptureJournal, captureSetup, checkJournal } from "./capture_journal.ts";
import { openSalts } from "./cookieless/day.ts";
import { openDailyQuotas } from "./daily_quota/daily_quotas.ts";
import { DefinitionBook } from "./definitions/definition_book.ts";
import type { Unrecorded } from "./definitions/known_names.ts";
import { type MergeAppender, typeRow } from "./event/merge_row.ts";
import { Flush, type FlushCounts } from "./flush/flush.ts";
import { MergeFlush } from "./flush/merges.ts";
import { type JournalOwnership, openOwnership } from "./journal/identity/ownership.ts";
import { Quarantine } from "./journal/quarantine.ts";
import { DiskReserve } from "./journal/quota.ts";
import { adoptOrphans } from "./journal/recovery/orphan_journals.ts";
import type { Damage } from "./journal/recovery/recovery.ts";
import { openSpool, type SpoolOptions } from "./journal/segments/segment_spool.ts";
import { captureLimits } from "./limits.ts";
import { checkpointPostgres, openSessionBacklog, recentMinutes } from "./store.ts";
import { type SharedBook, WarningBook } from "./warnings/warning_book.ts";
import type { StrayEvent } from "./wasm/unread_events.ts";

export interface OpenCaptureOptions extends Uses<"clock" | "log">, SpoolOptions {
  /** The folder of the process's journal; by default dataDir. */
  ownDir?: string;
  /** Folders of workers that are no longer started: this process adopts their journals. */
  orphanDirs?: readonly string[];
  /** Address of Postgres: host:port/name, without user and password; by default embedded. */
  postgres?: string;
  /** Books of worker 1, in another worker: which decides what must be decided for all. */
  shared?: SharedBook & { merges: MergeAppender };
  flushIntervalMs: number;
  stores: Stores;
  counts: FlushCounts &
    SpoolOptions["counts"] & {
      spiked(): void;
      damaged(damage: Damage): void;
      unrecorded(why: Unrecorded, names: number): void;
    };
}

export type OpenedCapture = Awaited<ReturnType<typeof openCapture>>;

/**
 * @throws UserError when the journal is another Postgres's; any other error when Postgres does not answer at
 * the journal's first start.
 */
export async function openCapture(options: OpenCaptureOptions) {
  const { dataDir, ownDir = dataDir, stores, shared, clock, log } = options;
  const folder = `${ownDir}/journal`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { postgres = embeddedAddress, flushIntervalMs, journalBytesMax: bytesMax } = options;
  const ownership = await openOwnership({ sql: stores.sql, folder, postgres, clock, log });
  const damaged = (damage: Damage) => options.counts.damaged(damage);
  const adopted = await adoptOrphans(captureSetup, folder, { ...options, ownership }, damaged, log);
  const [reserve, spool] = [new DiskReserve({ folder, log }), openSpool(captureSetup.io, options)];
  await reserve.poll();
  const parts = { folder, number: ownership.number, flushIntervalMs, bytesMax, damaged, reserve, clock, log };
  const journal = new CaptureJournal({ ...parts, spool, ...(shared && { mergesTo: shared.merges }) });
  journal.open();
  const book = openBook(options, journal);
  const { definitions, flush, merges } = openFlushes(options, { ownership, journal, book });
  const groupTypes = new KnownGroupTypes(({ project_id, name }) => announce(journal, project_id, name));
  const learning = followGroupTypes(groupTypes, stores.sql, log);
  const polls = openPolls(reserve, book, stores, log);
  const publish = () => ownership.publish(journal, adopted);
  // Published before anything is captured, so that exports know of this journal; but Postgres may be unavailable.
  const published = withinMs(publish(), limits.healthMsMax).catch(() => {});
  const opening = [openSalts(stores.sql, clock, log), openDailyQuotas(stores.sql, clock, log)] as const;
  const [salts, dailyQuotas] = await Promise.all([...opening, published]);
  const ticking = startInterval(captureLimits.watermarkMs, publishing, publish, log);
  let closing = false;
  const startFlush = () => {
    if (closing) return;
    flush.start();
    merges.start();
    // Worker 1 watches for spikes.
    if (!shared) void watchMinutes(options, book);
  };
  return {
    journal,
    book,
    parts: { journal, book, groupTypes, definitions, salts, dailyQuotas },
    /** The id of the database whose projects the events are of. */
    database: () => ownership.database,
    /** Resolves when Postgres is known to be the journal's own. */
    verified: ownership.verified,
    /** Resolves to the reason when another store is found after the start, or `end` has it: nothing more is flushed. */
    broken: ownership.broken,
    end: ownership.end,
    /** Starts the flush as soon as the journal's number is confirmed; to be called when ClickHouse's tables exist. */
    startFlush: () => void ownership.verified.then(startFlush),
    /** Free bytes of the journal's volume, at most diskPollMs old; NaN when unknown. */
    freeBytes: () => reserve.freeBytes ?? Number.NaN,
    /** Batches whose sessions could not be derived yet, of all servers. */
    sessionBacklog: () => flush.sessionBacklog,
    trouble: () => flush.trouble,
    /** Resolves when captures can be stored; throws otherwise. */
    check: () => checkJournal(journal),
    /** Writes and flushes what is pending, for at most `ms`, publishes the watermark, releases the journal. */
    close: async (ms: number) => {
      closing = true;
      for (const poll of polls) await poll.close();
      await Promise.all([salts.close(), dailyQuotas.close()]);
      await book.close();
      const drain = (forMs: number) => Promise.all([flush.drain(forMs), merges.drain(forMs)]);
      if (ownership.isBroken) await drain(0);
      await journal.close();
      await drain(ms);
      // Warnings of merges that were refused during the drain: the next start finds them.
      await journal.warnings.seal();
      await learning.close();
      await ticking.close();
      await (journal.isEmpty ? ownership.leave() : publish()).catch(() => {});
      await journal.release();
    },
  };
}

const publishing = "publishing the journal's watermark";

function openPolls(
  reserve: DiskReserve,
  book: WarningBook,
  { sql, folder }: Stores,
  log: Log,
): IntervalTask[] {
  const { diskPollMs, diskLowPollMs, minutePollMs } = captureLimits;
  // An embedded Postgres ends where its log needs another file and the disk is full.
  const checkpoint = async () =>
    void (reserve.isLow && folder !== undefined && (await checkpointPostgres(sql)));
  return [
    startInterval(diskPollMs, "reading the free disk space", () => reserve.poll(), log),
    startInterval(diskLowPollMs, "the checkpoint on a full disk", checkpoint, log),
    startInterval(minutePollMs, "closing minutes", () => book.poll(), log),
  ];
}

function openBook(
  { counts, shared, clock, log }: OpenCaptureOptions,
  { warnings }: CaptureJournal,
): WarningBook {
  const spiked = () => counts.spiked();
  return new WarningBook({ lane: warnings, spiked, ...(shared && { shared }), clock, log });
}

/** The book of names, the flush of rows, and the flush of merges. */
function openFlushes(
  { dataDir, ownDir = dataDir, stores, counts, clock, log }: OpenCaptureOptions,
  { ownership, journal, book }: { ownership: JournalOwnership; journal: CaptureJournal; book: WarningBook },
) {
  const { sql } = stores;
  const { database: id, end } = ownership;
  const clickhouse = onlyWithId(stores.clickhouse, { id, clock, end });
  const leaving = new AbortController();
  const definitions = new DefinitionBook({
    clickhouse: statementsUntil(clickhouse, leaving.signal),
    unrecorded: (why, names) => counts.unrecorded(why, names),
    clock,
    log,
  });
  const quarantine = new Quarantine(captureSetup, dataDir);
  const backlog = openSessionBacklog(sql);
  const parts = { journal, definitions, quarantine, backlog, folder: `${ownDir}/flush`, leaving };
  const onStrays = (strays: readonly StrayEvent[]) => book.recordStrays(strays);
  const flush = new Flush({ ...parts, clickhouse, counts, onStrays, clock, log });
  const onApplied = (applied: Applied) => book.recordRefused(applied);
  const readTrouble = () => flush.trouble;
  const merges = new MergeFlush({ journal, sql, clickhouse, onApplied, readTrouble, log });
  return { definitions, flush, merges };
}

/** Starts to watch for spikes, with the counts of the hour before this start. */
async function watchMinutes({ stores, clock, log }: OpenCaptureOptions, book: WarningBook): Promise<void> {
  try {
    book.watch(await recentMinutes(stores.clickhouse, clock.now(), captureLimits.spikeMinutes));
  } catch (thrown) {
    log.warn("spikes are compared with this process's own minutes only", { reason: toReason(thrown) });
    book.watch([]);
  }
}

/** A new group type travels in the lane of merges, since its index must be decided in order as well. */
function announce(journal: CaptureJournal, project_id: number, into: string): void {
  journal.merging.append(typeRow(project_id, into, journal.stamp()));
}

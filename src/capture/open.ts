// Capture, put together: journal, flush and watermark, opened and closed in mirror order. Needs Postgres only
// the first time.

import { mkdirSync } from "node:fs";
import type { Clock } from "../core/clock.ts";
import { withinMs } from "../core/deadline.ts";
import { newUuid } from "../core/id.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import { KnownGroupTypes, followGroupTypes } from "../persons/group_types.ts";
import { mergeKind } from "../persons/merge.ts";
import type { Stores } from "../storage/stores.ts";
import { type Ticking, every } from "../work/tick.ts";
import { type Identity, adoptJournals, readIdentity } from "./adopt.ts";
import { writeDurably } from "./files.ts";
import { Flush, type FlushCounts } from "./flush.ts";
import { Journal } from "./journal.ts";
import { MergeFlush } from "./merge_flush.ts";
import { Quarantine } from "./quarantine.ts";
import { leaveJournals, publishWatermark, recentMinutes, registerJournal } from "./store.ts";
import type { MergeTaker } from "./merge_row.ts";
import { type Sharing, WarningBook } from "./warning_book.ts";

export interface OpenCaptureOptions {
  dataDir: string;
  /** Where its journal rests; in dataDir unless told. */
  ownDir?: string;
  /** Folders of journals that have no process any more: what they hold goes the way of this one's. */
  leftDirs?: readonly string[];
  /** Who keeps what has to be looked at as a whole, when this is one process of several that share a folder. */
  shared?: Sharing & { merges: MergeTaker };
  flushIntervalMs: number;
  journalBytesMax: number;
  stores: Stores;
  counts: FlushCounts & { spiked(): void };
  clock: Clock;
  log: Log;
}

export interface OpenedCapture {
  journal: Journal;
  book: WarningBook;
  groupTypes: KnownGroupTypes;
  /** Lets sealed segments go to ClickHouse; once its tables are there. */
  startFlush(): void;
  /** Resolves when the journal's folder can be written; throws otherwise. */
  check(): Promise<void>;
  /** Writes and flushes what waits, at most `ms` long, says how far it came, lets go. */
  close(ms: number): Promise<void>;
}

/** @throws when this is the journal's first start and Postgres does not answer. */
export async function openCapture(options: OpenCaptureOptions): Promise<OpenedCapture> {
  const { dataDir, ownDir = dataDir, stores, shared, clock, log } = options;
  const folder = `${ownDir}/journal`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const identity = await identify(folder, stores);
  const adopted = await adoptJournals(folder, options.leftDirs ?? [], log);
  const journal = openJournal(options, folder, identity.number);
  const flush = new Flush({
    journal,
    clickhouse: stores.clickhouse,
    quarantine: new Quarantine(dataDir),
    folder: `${ownDir}/flush`,
    counts: options.counts,
    clock,
    log,
  });
  const book = new WarningBook({
    lane: journal.warnings,
    spiked: () => options.counts.spiked(),
    ...(shared && { shared }),
    clock,
    log,
  });
  const merges = new MergeFlush({
    journal,
    sql: stores.sql,
    clickhouse: stores.clickhouse,
    refused: (applied) => book.noteRefused(applied),
    log,
  });
  const groupTypes = new KnownGroupTypes(({ project_id, name }) => announce(journal, project_id, name));
  const learning = followGroupTypes(groupTypes, stores.sql, log);
  const looking = every(limits.minuteLookMs, "looking at the minutes that are over", () => book.look(), log);
  const publish = publisher(options, journal, identity, adopted);
  // Before anything is taken in: whoever waits for journals has to know of this one. Not for long, though, since
  // Postgres may be away.
  await withinMs(publish(), limits.healthMsMax).catch(() => {});
  const ticking: Ticking = every(limits.watermarkMs, "publishing the journal's watermark", publish, log);
  return {
    journal,
    book,
    groupTypes,
    startFlush: () => {
      flush.start();
      merges.start();
      // Who shares its counts tells them to one who watches.
      if (!shared) void watchMinutes(options, book);
    },
    check: async () => {
      if (journal.full) throw Object.assign(new Error("the journal is full"), { code: "JOURNAL_FULL" });
      await writeDurably(`${folder}/check`, "");
    },
    close: async (ms) => {
      await looking.close();
      await book.close();
      await journal.close();
      await Promise.all([flush.drain(ms), merges.drain(ms)]);
      // Merges refused just now were noted behind the flush: the next start finds what is told of them.
      await journal.warnings.seal();
      await learning.close();
      await ticking.close();
      await (isEmpty(journal) ? leaveJournals(stores.sql, identity.name) : publish()).catch(() => {});
      await journal.release();
    },
  };
}

/** Begins to look for spikes, knowing of the hour before this start. */
async function watchMinutes({ stores, clock, log }: OpenCaptureOptions, book: WarningBook): Promise<void> {
  try {
    book.watch(await recentMinutes(stores.clickhouse, clock.now(), limits.spikeMinutes));
  } catch (thrown) {
    log.warn("spikes are compared with this process's own minutes only", { reason: reasonOf(thrown) });
    book.watch([]);
  }
}

/** Tells how far the journal has come; then those it took in may leave, for what they held is its own now. */
function publisher(
  { stores: { sql }, clock }: OpenCaptureOptions,
  journal: Journal,
  identity: Identity,
  adopted: string[],
): () => Promise<void> {
  return async () => {
    await publishWatermark(sql, identity, journal.watermark(), clock.now());
    for (let name = adopted.at(-1); name !== undefined; name = adopted.at(-1)) {
      await leaveJournals(sql, name);
      adopted.pop();
    }
  };
}

/**
 * Whether everything it took is in ClickHouse, recordings and merges too. Such a journal leaves when its process
 * stops: exports and deletions of others would wait for it until it is given up for gone.
 */
function isEmpty(journal: Journal): boolean {
  const now = journal.stamp();
  return journal.watermark() >= now && journal.pending().events === 0;
}

/** The journal with what an earlier run left in it. */
function openJournal(options: OpenCaptureOptions, folder: string, number: number): Journal {
  const { clock, log, flushIntervalMs, journalBytesMax: bytesMax, shared } = options;
  const merging = shared && { mergesTo: shared.merges };
  const journal = new Journal({ folder, number, flushIntervalMs, bytesMax, ...merging, clock, log });
  journal.open();
  const found = journal.pending();
  if (found.events > 0) log.info("found events of an earlier run in the journal", { ...found });
  return journal;
}

/** A type nobody knows yet goes the way of merges, since its place must be decided in order as well. */
function announce(journal: Journal, project_id: number, into: string): void {
  const at = journal.stamp();
  journal.merging.append({
    project_id,
    kind: mergeKind.group_type,
    from: "",
    into,
    at,
    created_at: at,
    timestamp: at,
  });
}

/** A journal's name and number never change; they rest beside it, so that later starts need no Postgres. */
async function identify(folder: string, stores: Stores): Promise<Identity> {
  const known = readIdentity(folder);
  if (known) return known;
  const name = newUuid();
  const identity: Identity = { name, number: await registerJournal(stores.sql, name) };
  await writeDurably(`${folder}/identity.json`, JSON.stringify(identity));
  return identity;
}

// One pass: expired rows are deleted year by year, and files with many deleted rows are rewritten. A pass that starts
// again after any of its statements deletes the same rows.

import type { Clock } from "../core/clock.ts";
import { retentionLimits } from "./limits.ts";
import type { Log } from "../core/log.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type Expiry, expiryOfAll, expiryOfSome, type OwnRetention } from "./expiry.ts";
import {
  countExpiredSessions,
  deleteExpiredEvents,
  deleteExpiredSessions,
  expiringTables,
  findExpiredEvents,
  findMasked,
  freeBytes,
  type MaskedPartition,
  removeMasked,
  unfinishedDeletion,
} from "./store.ts";
import { giveTurn, keepTurn, listOwnRetentions, noteMasked, noteUnmasked, takeTurn } from "./turn_store.ts";

export interface PassOptions {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Log;
  /** After how many days all events expire; undefined: only those of projects with their own retention. */
  retentionDays: number | undefined;
  /** The process that makes the pass, a UUID. */
  owner: string;
  /** Counts expired events. */
  expired(events: number): void;
  /** Stops the pass before its next statement; the engine finishes the present one. */
  stopping: AbortSignal;
}

/** The result of a check: nothing was due; the engine is still at earlier deletions, and why; or a pass was made. */
export type Looked =
  | { is: "not due" }
  | { is: "waiting"; reason: string }
  | { is: "passed"; events: number; sessions: number; rewritten: number };

/** Makes a pass if one is due and no other process makes it. */
export async function expireEvents(options: PassOptions): Promise<Looked> {
  const { sql, clickhouse, clock, owner } = options;
  const turn = await takeTurn(sql, owner, clock.now());
  if (!turn) return { is: "not due" };
  let passed_at: number | undefined;
  try {
    const reason = await unfinishedDeletion(clickhouse);
    if (reason !== undefined) return { is: "waiting", reason };
    const now = clock.now();
    const deleted = await new Pass(options, now).deleteExpired();
    const hasMasked = turn.masked_since !== null || deleted.events + deleted.sessions > 0;
    const oldest = Math.min(turn.masked_since ?? now, now);
    const rewritten = hasMasked ? await removeGathered(options, oldest) : 0;
    passed_at = now;
    return { is: "passed", ...deleted, rewritten };
  } finally {
    await giveTurn(sql, owner, passed_at);
  }
}

class Pass {
  readonly #options: PassOptions;
  readonly #now: number;
  #events = 0;
  #sessions = 0;

  constructor(options: PassOptions, now: number) {
    this.#options = options;
    this.#now = now;
  }

  /** Rows that were deleted. */
  async deleteExpired(): Promise<{ events: number; sessions: number }> {
    const { sql, retentionDays } = this.#options;
    if (retentionDays !== undefined) await this.#expire(expiryOfAll(this.#now, retentionDays));
    let last: OwnRetention | undefined;
    do {
      const own = await listOwnRetentions(sql, retentionDays, last);
      if (own.length > 0) await this.#expire(expiryOfSome(this.#now, own));
      last = own.length < retentionLimits.expiryProjectsMax ? undefined : own.at(-1);
    } while (last);
    return { events: this.#events, sessions: this.#sessions };
  }

  /** Events first: rows that are derived from them meanwhile go with the sessions, or with the next pass. */
  async #expire(expiry: Expiry): Promise<void> {
    const { clickhouse, expired, stopping: abort } = this.#options;
    for (const { year, rows } of await findExpiredEvents(clickhouse, expiry, { abort })) {
      await this.#mayDelete();
      await deleteExpiredEvents(clickhouse, expiry, year, { abort });
      expired(rows);
      this.#events += rows;
    }
    const sessions = await countExpiredSessions(clickhouse, expiry, { abort });
    if (sessions === 0) return;
    await this.#mayDelete();
    await deleteExpiredSessions(clickhouse, expiry, { abort });
    this.#sessions += sessions;
  }

  async #mayDelete(): Promise<void> {
    await stillMine(this.#options);
    await noteMasked(this.#options.sql, this.#now);
  }
}

/**
 * Rewrites the files in which many rows are deleted, or all with deleted rows once some are old. Resolves to their
 * number.
 */
async function removeGathered(options: PassOptions, masked_since: number): Promise<number> {
  const { sql, clickhouse, clock, stopping: abort } = options;
  const isOld = masked_since <= clock.now() - retentionLimits.expiryMaskedMsMax;
  let [rewritten, left] = [0, 0];
  for (const table of expiringTables) {
    for (const found of await findMasked(clickhouse, table, { abort })) {
      const isDue = isOld || found.masked * retentionLimits.expiryMaskedShare >= found.rows;
      if (isDue && (await hasRoom(options, found))) {
        await stillMine(options);
        await removeMasked(clickhouse, table, found.partition, { abort });
        rewritten++;
      } else left++;
    }
  }
  if (left === 0) await noteUnmasked(sql);
  return rewritten;
}

/** The new files exist beside the old ones for a while. A rewrite without space would block further deletions. */
async function hasRoom(
  { clickhouse, log, stopping: abort }: PassOptions,
  { partition, bytes_left }: MaskedPartition,
): Promise<boolean> {
  const free = await freeBytes(clickhouse, { abort });
  if (bytes_left * retentionLimits.expiryRoomFactor <= free) return true;
  const bytes = { free_bytes: free, new_bytes: bytes_left };
  log.warn("no room to write files anew without expired events; they stay deleted", { partition, ...bytes });
  return false;
}

async function stillMine({ sql, owner, clock, stopping }: PassOptions): Promise<void> {
  stopping.throwIfAborted();
  if (!(await keepTurn(sql, owner, clock.now()))) throw new Error("another process deletes expired events");
}

// A queue of work in a table of Postgres, shared by several processes: due work is claimed in fair shares, each claim
// is a lease that is renewed while the attempt runs, and a process that lost its lease writes nothing. All moments come
// from the caller's clock.

import { type Clock, sleep } from "../../core/clock.ts";
import { newUuid } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";
import { type Log, toReason } from "../../core/log.ts";
import { FairShare } from "../../work/fair_share.ts";
import { type IntervalTask, startInterval } from "../../work/interval.ts";
import { storageLimits } from "../limits.ts";
import { arrayText, type Postgres, type PostgresFragment } from "./postgres.ts";

/** A claimed row. All writes of an attempt, its end included, name its claim, which fences them. */
export interface ClaimedJob {
  id: string | number;
  claim: string;
  /** The project whose share of the permits it uses. */
  project_id: number;
}

/** The rows of a queue. In fragments `q` is the row; `before` the row before its claim. */
export interface LeasedRows {
  table: string;
  /** The columns of the claim's name and of its expiry. */
  claim: string;
  until: string;
  ids: PostgresFragment;
  joins: PostgresFragment;
  project: PostgresFragment;
  /** How many permits of its project a row counts for. */
  weight: PostgresFragment;
  /** Whether a row may be claimed when nobody has claimed it. */
  due: PostgresFragment;
  /** Columns of the queue's table that order the rows of one project. */
  order: PostgresFragment;
  kept: PostgresFragment;
  /** Further columns that a claim sets, with a comma before each. */
  set: PostgresFragment;
  shown: PostgresFragment;
}

export interface Lease {
  /** Aborts when the claim was lost, and when the process stops. */
  signal: AbortSignal;
  /**
   * Writes the attempt's end; retried when the store fails, the last time `bare`: without the texts of errors, which
   * may be the cause.
   * @throws the store's error after leaseEndTriesMax tries, or once the claim is lost.
   */
  end<T>(write: (bare: boolean) => Promise<T>): Promise<T>;
}

interface LeaseQueueOptions<Job extends ClaimedJob> {
  sql: Postgres;
  clock: Clock;
  log: Log;
  name: string;
  atOnceMax: number;
  pollMs: number;
  leaseMs: number;
  beatMs: number;
  rows: (now: number) => LeasedRows;
  /** Awaited before each search for due work. */
  prepare?: () => Promise<void>;
  /** A claim expires unless its attempt ends, renews or releases it. */
  attempt: (job: Job, lease: Lease) => Promise<void>;
}

interface RunningJob {
  job: ClaimedJob;
  lost: AbortController;
  /** When the lease was last known to be valid. */
  renewedAt: number;
}

export class LeaseQueue<Job extends ClaimedJob> {
  readonly #options: LeaseQueueOptions<Job>;
  readonly #permits: FairShare;
  readonly #running = new Map<Promise<void>, RunningJob>();
  readonly #stopping = new AbortController();
  #polls: IntervalTask | undefined;
  #beats: IntervalTask | undefined;
  #polling: Promise<void> | undefined;
  #again = false;

  constructor(options: LeaseQueueOptions<Job>) {
    this.#options = options;
    this.#permits = new FairShare(options.atOnceMax, limits.waitingFreeMultiple);
  }

  start(): void {
    const { name, pollMs, beatMs, log } = this.#options;
    this.#polls ??= startInterval(pollMs, name, () => this.poll(), log);
    this.#beats ??= startInterval(beatMs, `${name}: leases`, () => this.beat(), log);
  }

  /** Searches for work now instead of at the next tick. */
  wake(): void {
    if (this.#polls) this.#pollAgain();
  }

  /** Starts due work while permits last. One pass at a time: a call during a pass causes another one after it. */
  poll(): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    this.#again = true;
    this.#polling ??= this.#pass();
    return this.#polling;
  }

  async settle(): Promise<void> {
    while (this.#running.size > 0 || this.#polling)
      await Promise.all([...this.#running.keys(), this.#polling?.catch(() => undefined)]);
  }

  /** Starts nothing new; resolves when the running attempts have ended and the remaining claims are released. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#polls?.close();
    await this.settle();
    await this.#beats?.close();
  }

  async #pass(): Promise<void> {
    try {
      while (this.#again && !this.#stopping.signal.aborted) {
        this.#again = false;
        await this.#options.prepare?.();
        for (let tries = 0; tries < limits.claimTriesMax; tries++) if (await this.#begin()) break;
      }
    } finally {
      // In the turn that saw no further call, so that none is lost in between.
      this.#polling = undefined;
    }
  }

  #pollAgain(): void {
    this.poll().catch((thrown: unknown) => {
      const { name, log } = this.#options;
      log.debug("due work could not be read", { queue: name, reason: toReason(thrown) });
    });
  }

  /** Starts due work, shared by project; false when other processes claimed some of it. */
  async #begin(): Promise<boolean> {
    const permits = this.#permits;
    if (permits.free === 0 || this.#stopping.signal.aborted) return true;
    const { sql, clock, leaseMs } = this.#options;
    const now = clock.now();
    const rows = this.#options.rows(now);
    const dueRows = permits.acquireFor(await findDue(sql, rows, now, permits.free));
    if (dueRows.length === 0) return true;
    const claimed = new Map<Job["id"], Job>();
    try {
      const ids = dueRows.map(({ id }) => id);
      for (const job of await claim<Job>(sql, rows, ids, now, now + leaseMs)) claimed.set(job.id, job);
    } finally {
      for (const { id, owner } of dueRows) if (!claimed.has(id)) permits.leave(owner);
    }
    for (const job of claimed.values()) this.#run(job);
    return claimed.size === dueRows.length;
  }

  #run(job: Job): void {
    const run: RunningJob = { job, lost: new AbortController(), renewedAt: this.#options.clock.elapsed() };
    const running = this.#attempt(job, run).finally(() => {
      this.#running.delete(running);
      this.#permits.leave(job.project_id);
      this.#pollAgain();
    });
    this.#running.set(running, run);
  }

  async #attempt(job: Job, { lost }: RunningJob): Promise<void> {
    const { sql, clock, log, name: queue } = this.#options;
    const about = { queue, id: job.id };
    const stopping = this.#stopping.signal;
    const signal = AbortSignal.any([lost.signal, stopping]);
    // Whether the end was written under its claim, which beat() then no longer finds.
    let isEnded = false;
    const end = async <T>(write: (bare: boolean) => Promise<T>): Promise<T> => {
      for (let tried = 1; ; tried++) {
        const last = tried === storageLimits.leaseEndTriesMax;
        const isOwn = !lost.signal.aborted;
        try {
          const written = await write(last);
          isEnded = isOwn;
          return written;
        } catch (thrown) {
          if (last || lost.signal.aborted) throw thrown;
          const reason = toReason(thrown);
          log.warn("the end of an attempt could not be written; retrying", { ...about, reason });
          await sleep(storageLimits.leaseEndRetryMs * tried);
        }
      }
    };
    try {
      // The process may have been stopped while the work was claimed: then the claim is only released.
      if (!stopping.aborted) await this.#options.attempt(job, { signal, end });
    } catch (thrown) {
      // The claim expires, and another process continues from what is stored.
      log.warn("an attempt was interrupted", { ...about, reason: toReason(thrown) });
    }
    if (lost.signal.aborted && !isEnded) log.info("an attempt lost its claim", about);
    if (!stopping.aborted) return;
    await release(sql, this.#options.rows(clock.now()), job).catch(() => undefined);
  }

  /**
   * Renews the leases of running attempts. After a whole lease without an answer another process may have claimed the
   * work.
   */
  async beat(): Promise<void> {
    const { sql, clock, leaseMs } = this.#options;
    const running = [...this.#running.values()];
    if (running.length === 0) return;
    const now = clock.now();
    const jobs = running.map(({ job }) => job);
    const renewed = await renewClaims(sql, this.#options.rows(now), jobs, now + leaseMs).catch(
      () => undefined,
    );
    for (const item of running) {
      if (renewed?.has(item.job.id)) item.renewedAt = clock.elapsed();
      else if (renewed || clock.elapsed() - item.renewedAt > leaseMs) item.lost.abort();
    }
  }
}

interface DueJob {
  id: string | number;
  owner: number;
  weight: number;
}

function isFree(sql: Postgres, { until }: LeasedRows, now: number): PostgresFragment {
  const ahead = new Date(now + storageLimits.leaseAheadMsMax);
  return sql`(q.${sql(until)} IS NULL OR q.${sql(until)} <= ${new Date(now)} OR q.${sql(until)} > ${ahead})`;
}

function selectRows(sql: Postgres, { table, joins }: LeasedRows): PostgresFragment {
  return sql`${sql(table)} q ${joins}`;
}

/**
 * Due rows that nobody has claimed, at most `each` per project and weight, in rounds: the first row of every project,
 * then the second ones.
 */
async function findDue(sql: Postgres, rows: LeasedRows, now: number, each: number): Promise<DueJob[]> {
  const { project, weight, due, order } = rows;
  return await sql<DueJob[]>`
    SELECT id, job_project AS owner, job_weight AS weight
    FROM (
      SELECT *, row_number() OVER (PARTITION BY job_project, job_weight ORDER BY ${order}) AS job_place
      FROM (
        SELECT q.*, ${project} AS job_project, ${weight} AS job_weight FROM ${selectRows(sql, rows)}
        WHERE ${due} AND ${isFree(sql, rows, now)}) waiting
    ) ranked
    WHERE job_place <= ${each}
    ORDER BY job_place, job_weight, ${order}
    LIMIT ${limits.claimCandidatesMax}`;
}

async function claim<Job>(
  sql: Postgres,
  rows: LeasedRows,
  jobIds: readonly (string | number)[],
  now: number,
  until: number,
): Promise<Job[]> {
  const { table, joins, due, set, shown, ids } = rows;
  const found = await sql`
    WITH before AS (
      SELECT q.* FROM ${selectRows(sql, rows)}
      WHERE q.id = ANY (${arrayText(jobIds)}::text::${ids}) AND ${due} AND ${isFree(sql, rows, now)}
      ORDER BY q.id
      FOR UPDATE OF q SKIP LOCKED
    ), claimed AS (
      UPDATE ${sql(table)} q
      SET ${sql(rows.claim)} = ${newUuid()}, ${sql(rows.until)} = ${new Date(until)}${set}
      FROM before WHERE q.id = before.id
      RETURNING q.*
    )
    SELECT ${shown}, q.${sql(rows.claim)}::text AS claim
    FROM claimed q JOIN before ON before.id = q.id ${joins}
    ORDER BY q.id`;
  return found as unknown as Job[];
}

/** Renews the claims that are still valid, and returns their ids. */
async function renewClaims(sql: Postgres, rows: LeasedRows, jobs: readonly ClaimedJob[], until: number) {
  const found = await sql<{ id: string | number }[]>`
    UPDATE ${sql(rows.table)} k SET ${sql(rows.until)} = ${new Date(until)}
    FROM (
      SELECT q.id, held.claim
      FROM ${selectRows(sql, rows)} JOIN unnest(
        ${arrayText(jobs.map(({ id }) => id))}::text::${rows.ids},
        ${arrayText(jobs.map((item) => item.claim))}::text::text[]) AS held (id, claim) ON held.id = q.id
      WHERE ${rows.kept}) standing
    WHERE k.id = standing.id AND k.${sql(rows.claim)}::text = standing.claim
    RETURNING k.id`;
  return new Set(found.map(({ id }) => id));
}

/** Releases the claim if it is still valid: another process may claim the row at once. */
async function release(sql: Postgres, rows: LeasedRows, { id, claim: own }: ClaimedJob): Promise<void> {
  await sql`
    UPDATE ${sql(rows.table)} q SET ${sql(rows.claim)} = NULL, ${sql(rows.until)} = NULL
    WHERE q.id = ${id} AND q.${sql(rows.claim)}::text = ${own}`;
}

// The queue of leases against a naive model, with several processes on one table; and when Postgres fails.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { silentLog } from "../../../src/core/log.ts";
import { storageLimits } from "../../../src/storage/limits.ts";
import {
  type ClaimedJob,
  type Lease,
  type LeasedRows,
  LeaseQueue,
} from "../../../src/storage/postgres/lease_queue.ts";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { type FirstAccounts, openFirstAccounts, startMsMax } from "../../support/accounts.ts";
import { until } from "../../support/server.ts";

interface Job extends ClaimedJob {
  id: number;
  attempts: number;
}

const [leaseMs, placesMax] = [1000, 5];
let accounts: FirstAccounts;
let sql: Postgres;
let now = 0;

beforeAll(async () => {
  accounts = await openFirstAccounts();
  ({ sql } = accounts);
  await sql`
    CREATE TABLE jobs (id integer PRIMARY KEY, project_id integer, weight integer, due_at timestamptz,
      attempts integer DEFAULT 0, holder uuid, held_until timestamptz)`;
}, startMsMax);

afterAll(() => accounts.close());

beforeEach(async () => {
  await sql`DROP TRIGGER IF EXISTS refuse ON jobs`;
  await sql`DELETE FROM jobs`;
  now = Date.parse("2030-01-01T00:00:00Z");
});

function rows(at: number): LeasedRows {
  return {
    table: "jobs",
    claim: "holder",
    until: "held_until",
    ids: sql`integer[]`,
    joins: sql``,
    project: sql`q.project_id`,
    weight: sql`q.weight`,
    due: sql`q.due_at <= ${new Date(at)}`,
    order: sql`due_at, id`,
    kept: sql`q.due_at IS NOT NULL`,
    set: sql`, attempts = q.attempts + 1 + 0 * before.attempts`,
    shown: sql`q.id, q.project_id, q.attempts`,
  };
}

/** Ends a job, if its claim still stands. */
async function end({ id, claim }: ClaimedJob): Promise<boolean> {
  const ended = await sql`
    UPDATE jobs SET due_at = NULL, holder = NULL, held_until = NULL WHERE id = ${id} AND holder = ${claim}`;
  return ended.count > 0;
}

interface Attempt {
  job: Job;
  lease: Lease;
  /** Lets it write its end. */
  go: () => void;
  wasOurs: Promise<boolean | "stopped">;
}

/** A process whose attempts last until they are told to end, or are aborted. */
function openProcess(rowsAt = rows) {
  const attempts: Attempt[] = [];
  let looks = 0;
  const queue = new LeaseQueue<Job>({
    sql,
    leaseMs,
    rows: rowsAt,
    atOnceMax: placesMax,
    log: silentLog,
    name: "jobs",
    clock: { now: () => now, elapsed: () => now },
    pollMs: 1e6,
    beatMs: 1e6,
    prepare: () => Promise.resolve(void looks++),
    attempt: async (job, lease) => {
      const gate = Promise.withResolvers<void>();
      const outcome = Promise.withResolvers<boolean | "stopped">();
      lease.signal.addEventListener("abort", () => gate.resolve());
      attempts.push({ job, lease, go: gate.resolve, wasOurs: outcome.promise });
      await gate.promise;
      outcome.resolve(lease.signal.aborted ? "stopped" : await lease.end(() => end(job)));
    },
  });
  return { queue, attempts, looks: () => looks };
}

type Process = ReturnType<typeof openProcess>;

async function fill(jobs: { project_id: number; weight: number; due: number }[]): Promise<void> {
  for (const [id, { project_id, weight, due }] of jobs.entries())
    await sql`INSERT INTO jobs (id, project_id, weight, due_at) VALUES (${id}, ${project_id}, ${weight}, ${new Date(due)})`;
}

async function stored() {
  const found = await sql<{ id: number; attempts: number; until: Date | null; open: boolean }[]>`
    SELECT id, attempts, held_until AS until, due_at IS NOT NULL AS open FROM jobs ORDER BY id`;
  return found.map(({ until: at, ...row }) => ({ ...row, until: at?.getTime() ?? null }));
}

/** What the queue should do, told without SQL and without promises. */
class Model {
  readonly jobs: { project_id: number; weight: number; due: number; attempts: number; open: boolean }[];
  readonly claims = new Map<number, { token: number; until: number }>();
  /** What each process holds, and which projects it served, the latest last. */
  readonly held: { id: number; token: number }[][] = [[], [], []];
  readonly served: number[][] = [[], [], []];
  #tokens = 0;

  constructor(jobs: { project_id: number; weight: number; due: number }[]) {
    this.jobs = jobs.map((one) => ({ ...one, attempts: 0, open: true }));
  }

  look(process: number): void {
    const held = this.held[process]!;
    const free = () => placesMax - held.length;
    const holds = (project: number) => held.filter(({ id }) => this.jobs[id]!.project_id === project).length;
    let waiting = this.#inRounds(free());
    for (;;) {
      const may = waiting.filter((id) => {
        const { project_id, weight } = this.jobs[id]!;
        return free() > 0 && holds(project_id) * weight < free();
      });
      const rank = (id: number) => {
        const { project_id } = this.jobs[id]!;
        return holds(project_id) * 1000 + this.served[process]!.lastIndexOf(project_id);
      };
      const [next] = may.toSorted((one, other) => rank(one) - rank(other));
      if (next === undefined) return;
      waiting = waiting.filter((id) => id !== next);
      const { project_id } = this.jobs[next]!;
      const served = this.served[process]!.filter((one) => one !== project_id);
      this.served[process] = [...served, project_id];
      const token = ++this.#tokens;
      held.push({ id: next, token });
      this.claims.set(next, { token, until: now + leaseMs });
      this.jobs[next]!.attempts++;
    }
  }

  #inRounds(each: number): number[] {
    const rank = new Map<string, number>();
    return [...this.jobs.keys()]
      .filter(
        (id) => this.jobs[id]!.open && this.jobs[id]!.due <= now && (this.claims.get(id)?.until ?? 0) <= now,
      )
      .toSorted((one, other) => this.jobs[one]!.due - this.jobs[other]!.due || one - other)
      .map((id, age) => {
        const { project_id, weight } = this.jobs[id]!;
        const place = rank.get(`${project_id} ${weight}`) ?? 0;
        rank.set(`${project_id} ${weight}`, place + 1);
        return { id, place, weight, age };
      })
      .filter(({ place }) => place < each)
      .toSorted((one, other) => one.place - other.place || one.weight - other.weight || one.age - other.age)
      .map(({ id }) => id);
  }

  stands({ id, token }: { id: number; token: number }): boolean {
    return this.claims.get(id)?.token === token;
  }

  /** Whether the end was written. */
  end(process: number, which: number): boolean {
    const [held] = this.held[process]!.splice(which, 1);
    if (!this.stands(held!)) return false;
    this.claims.delete(held!.id);
    this.jobs[held!.id]!.open = false;
    return true;
  }

  /** Those that were lost. */
  beat(process: number): number[] {
    const lost = this.held[process]!.filter((one) => !this.stands(one));
    this.held[process] = this.held[process]!.filter((one) => this.stands(one));
    for (const { id } of this.held[process]) this.claims.get(id)!.until = now + leaseMs;
    return lost.map(({ id }) => id);
  }

  close(process: number): void {
    for (const one of this.held[process]!) if (this.stands(one)) this.claims.delete(one.id);
    [this.held[process], this.served[process]] = [[], []];
  }

  stored() {
    return this.jobs.map(({ attempts, open }, id) => ({
      id,
      attempts,
      open,
      until: this.claims.get(id)?.until ?? null,
    }));
  }
}

/** Numbers below `n`, the same for the same seed. */
function randomFrom(seed: number): (n: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (n) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** Lets attempts end, or be aborted, and waits until their process has looked again. */
async function seen({ queue, looks }: Process, act: () => Promise<unknown>): Promise<void> {
  const before = looks();
  await act();
  await until(() => Promise.resolve(looks() > before));
  await queue.poll();
}

async function play(seed: number): Promise<void> {
  const random = randomFrom(seed);
  const jobs = Array.from({ length: 24 }, () => {
    return { project_id: 1 + random(4), weight: 1 + random(2), due: now + random(3000) };
  });
  await sql`DELETE FROM jobs`;
  await fill(jobs);
  const model = new Model(jobs);
  const processes = [openProcess(), openProcess(), openProcess()];
  for (let step = 0; step < 40; step++) {
    const which = random(3);
    const process = processes[which]!;
    const held = model.held[which]!;
    const what = random(10);
    if (what < 3) now += random(700);
    else if (what < 6 || held.length === 0) {
      await process.queue.poll();
      model.look(which);
    } else if (what < 8) {
      const place = random(held.length);
      const { id } = held[place]!;
      const mine = process.attempts.findIndex(({ job }) => job.id === id);
      const [attempt] = process.attempts.splice(mine, 1);
      const wasOurs = model.end(
        which,
        held.findIndex((one) => one.id === id),
      );
      await seen(process, async () => {
        attempt!.go();
        expect(await attempt!.wasOurs).toBe(wasOurs);
      });
      model.look(which);
    } else if (what === 8) {
      const lost = model.beat(which);
      await process.queue.beat();
      if (lost.length > 0) {
        await seen(process, () => Promise.resolve());
        model.look(which);
      }
      const aborted = process.attempts.filter(({ lease }) => lease.signal.aborted);
      expect(aborted.map(({ job }) => job.id).toSorted()).toEqual(lost.toSorted());
      for (const one of aborted) process.attempts.splice(process.attempts.indexOf(one), 1);
    } else {
      await process.queue.close();
      model.close(which);
      processes[which] = openProcess();
    }
    const place = `seed ${seed}, step ${step}`;
    expect({ place, jobs: await stored() }).toEqual({ place, jobs: model.stored() });
  }
  for (const { queue } of processes) await queue.close();
}

test("processes that look, end, beat and stop in any order do what the naive model does", async () => {
  for (let seed = 1; seed <= 12; seed++) await play(seed);
});

/** Postgres refuses changes of jobs while `sql` holds of the new row. */
async function refuse(condition: string): Promise<void> {
  await sql.unsafe(`
    CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF ${condition} THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();`);
}

test("a claim that Postgres refuses takes no place, and the next look finds the work", async () => {
  await fill([1, 2].map((project_id) => ({ project_id, weight: 1, due: now })));
  const process = openProcess();
  await refuse("NEW.holder IS NOT NULL");
  for (let i = 0; i < placesMax + 1; i++)
    expect(await process.queue.poll().catch(String)).toContain("refused");
  await refuse("false");
  await process.queue.poll();
  expect(process.attempts.map(({ job }) => job.id).toSorted()).toEqual([0, 1]);
  await process.queue.close();
});

test("leases that cannot be extended are lost after their time, and end nothing that another holds", async () => {
  await fill([{ project_id: 1, weight: 1, due: now }]);
  const [one, other] = [openProcess(), openProcess()];
  await one.queue.poll();
  await refuse("NEW.held_until > OLD.held_until AND NEW.holder = OLD.holder");
  now += leaseMs;
  await one.queue.beat();
  expect(one.attempts[0]!.lease.signal.aborted).toBe(false);
  await other.queue.poll();
  now += 1;
  await one.queue.beat();
  expect(one.attempts[0]!.lease.signal.aborted).toBe(true);
  expect(await one.attempts[0]!.wasOurs).toBe("stopped");
  expect(await end(one.attempts[0]!.job)).toBe(false);
  // The first to stop still looks for work, which the other's stop would give it.
  await one.queue.close();
  await other.queue.close();
  expect(await stored()).toEqual([{ id: 0, attempts: 2, open: true, until: null }]);
});

test("a lease that a clock wrote years ahead holds nobody up", async () => {
  await fill([{ project_id: 1, weight: 1, due: now }]);
  const process = openProcess();
  const aheadMs = storageLimits.leaseAheadMsMax;
  for (const [ms, claimed] of [
    [aheadMs, 0],
    [aheadMs + 1, 1],
  ] as const) {
    await sql`UPDATE jobs SET holder = ${crypto.randomUUID()}, held_until = ${new Date(now + ms)}`;
    await process.queue.poll();
    expect(process.attempts).toHaveLength(claimed);
  }
  await process.queue.close();
});

test("work that is claimed while the process stops is not begun, and is released at once", async () => {
  await fill([{ project_id: 1, weight: 1, due: now }]);
  let closing: Promise<void> | undefined;
  const process = openProcess((at) => {
    closing ??= process.queue.close();
    return rows(at);
  });
  await process.queue.poll();
  await closing;
  expect(process.attempts).toEqual([]);
  expect(await stored()).toEqual([{ id: 0, attempts: 1, open: true, until: null }]);
});

test("an end that is refused is written again, the last time bare, and a thrown attempt leaves its claim to run out", async () => {
  await fill([0, 1].map(() => ({ project_id: 1, weight: 1, due: now })));
  const bares: boolean[] = [];
  const queue = new LeaseQueue<Job>({
    sql,
    leaseMs,
    rows,
    atOnceMax: placesMax,
    log: silentLog,
    name: "jobs",
    pollMs: 1e6,
    beatMs: 1e6,
    clock: { now: () => now, elapsed: () => now },
    attempt: async (job, lease) => {
      if (job.id === 0) throw new Error("the process lost its mind");
      await lease.end((bare) => {
        bares.push(bare);
        return bare ? end(job) : Promise.reject(new Error("refused"));
      });
    },
  });
  await queue.poll();
  await queue.settle();
  expect(bares).toEqual([...Array<boolean>(storageLimits.leaseEndTriesMax - 1).fill(false), true]);
  expect(await stored()).toEqual([
    { id: 0, attempts: 1, open: true, until: now + leaseMs },
    { id: 1, attempts: 1, open: false, until: null },
  ]);
  await queue.close();
});

test("an attempt that has written its end while leases are extended is not logged as lost", async () => {
  await fill([{ project_id: 1, weight: 1, due: now }]);
  const logged: string[] = [];
  const beaten = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const queue: LeaseQueue<Job> = new LeaseQueue<Job>({
    sql,
    leaseMs,
    rows,
    atOnceMax: placesMax,
    log: { ...silentLog, info: (message) => void logged.push(message) },
    name: "jobs",
    pollMs: 1e6,
    beatMs: 1e6,
    clock: { now: () => now, elapsed: () => now },
    attempt: async (job, lease) => {
      await lease.end(() => end(job));
      ended.resolve();
      await beaten.promise;
    },
  });
  await queue.poll();
  await ended.promise;
  await queue.beat();
  beaten.resolve();
  await queue.settle();
  expect(logged).not.toContain("an attempt lost its claim");
  await queue.close();
});

// One seed: a server that lives a few times on one disk, clients that send to it, an engine that takes what it flushes,
// and a judge at the end. The journal and the flush are the server's own code.

import { drainMicrotasks } from "bun:jsc";
import { CaptureJournal, captureLanes } from "../../../src/capture/capture_journal.ts";
import { emptyRow } from "../../../src/capture/fields/row.ts";
import { Flush } from "../../../src/capture/flush/flush.ts";
import { flushLimits } from "../../../src/capture/flush/limits.ts";
import { journalLimits } from "../../../src/capture/journal/limits.ts";
import { Quarantine } from "../../../src/capture/journal/quarantine.ts";
import type { Damage } from "../../../src/capture/journal/recovery/recovery.ts";
import { toBytes } from "../../../src/core/bytes.ts";
import type { Log } from "../../../src/core/log.ts";
import { noDefinitions } from "../../support/definitions.ts";
import { type DiskFaults, SimulatedDisk } from "./disk.ts";
import { Engine, poison, type StoredRow } from "./engine.ts";
import { Chance, type Life, type Machine, setMachine, VirtualTime } from "./machine.ts";
import { type Plan, planOf } from "./plan.ts";
import type { PlantedBug } from "./plants.ts";
import { folders, SimulatedIo } from "./simulated_io.ts";

export interface SeedResult {
  seed: number;
  lives: number;
  acknowledged: number;
  stored: number;
  lost: number;
  doubled: number;
  invented: number;
  /** Rows stored twice that a reader takes for one: the engine ran an INSERT that it had been asked about. */
  collapsed: number;
  quarantined: number;
  /** Everything that must not be, as text. */
  problems: string[];
}

/** Small files, so that a few rows fill segments, rewrite the ledger and recycle files. */
Object.assign(journalLimits, { recycledBytesMin: 600, preparedBytesMin: 1000, ledgerBytesMax: 1024 });
Object.assign(flushLimits, { spoolBufferBytes: 4096, sessionsEveryMs: 50, sessionsLateMs: 200 });

/** Virtual ms of a life, and until everything must be stored once nothing fails any more. */
const lifeMs = 400;
const restMsMax = 3_600_000;
const beganMs = Date.UTC(2026, 0, 5);
/** Moments of events, in three years; the first is too old to be counted by its day. */
const moments = [Date.UTC(2020, 5), Date.UTC(2025, 11, 20), Date.UTC(2026, 0, 2)] as const;

type End = "kill" | "power" | "close";

/** @param bug is planted in each life of the server. */
export function simulate(seed: number, log: Log, bug: PlantedBug = { plant: () => {} }): SeedResult {
  return new World(seed, log, bug).run();
}

interface SentRow {
  properties: string;
  isAcknowledged: boolean;
}

class World {
  readonly #seed: number;
  readonly #log: Log;
  readonly #bug: PlantedBug;
  readonly #chance: Chance;
  readonly #machine: Machine;
  readonly #plan: Plan;
  readonly #engine = new Engine();
  readonly #sent: SentRow[] = [];
  readonly #problems: string[] = [];
  readonly #damage: Damage = { files: 0, rows: 0, bytes: 0 };
  #lostPower = false;
  /** Rows that may still be stored: sent, and neither stored nor refused. By number, with created_at. */
  readonly #open = new Map<number, number>();
  #watermark = 0;
  #skewMs = 0;
  #journal: CaptureJournal | undefined;
  #io: SimulatedIo | undefined;
  #storedRows = 0;
  #isClosing = false;
  readonly #row = emptyRow();

  constructor(seed: number, log: Log, bug: PlantedBug) {
    this.#seed = seed;
    this.#log = log;
    this.#bug = bug;
    const chance = new Chance(seed * 2_654_435_761 + 1);
    this.#chance = chance;
    const die = (): void => {
      this.#machine.life.isOver = true;
    };
    const disk = new SimulatedDisk(chance, die);
    const life: Life = { isOver: true };
    this.#machine = { chance, time: new VirtualTime(), disk, life, bootId: bootIdOf(chance), die };
    this.#plan = { ...planOf(chance), ...bug.plan };
    this.#engine.onStored = () => this.#compareWatermark();
    const { lives } = this.#plan;
    journalLimits.writeNowBytesMax = chance.is(0.5) ? 65_536 : 300;
    if (lives < 1) throw new Error("a world without a life");
    log.info("the plan", { ...this.#plan });
  }

  run(): SeedResult {
    setMachine(this.#machine);
    const { lives, powerShare, engineGoesWrong } = this.#plan;
    this.#engine.faults = { goesWrong: engineGoesWrong };
    for (let life = 0; life < lives; life++) {
      const kind = this.#chance.next();
      this.#live(kind < 0.1 ? "close" : this.#chance.is(powerShare) ? "power" : "kill");
    }
    this.#rest();
    return this.#judge();
  }

  #begin(disk: DiskFaults, diesAt: number): { journal: CaptureJournal; flush: Flush } | undefined {
    const machine = this.#machine;
    machine.life = { isOver: false };
    machine.disk.begin(disk, diesAt);
    const clock = {
      now: () => Math.floor(beganMs + machine.time.now + this.#skewMs),
      elapsed: () => machine.time.now,
    };
    const damaged = ({ files, rows, bytes }: Damage): void => {
      this.#damage.files += files;
      this.#damage.rows += rows;
      this.#damage.bytes += bytes;
    };
    const { flushIntervalMs, embedded } = this.#plan;
    const io = new SimulatedIo(machine);
    this.#io = io;
    const clickhouse = this.#engine.client(embedded);
    const opened: { journal?: CaptureJournal } = {};
    this.#bug.plant({ io, clickhouse, journal: () => opened.journal!, now: clock.now });
    try {
      const folder = folders.journal;
      const own = { io, folder, number: 3, flushIntervalMs, bytesMax: 1 << 30, damaged };
      const journal = new CaptureJournal({ ...own, clock, log: this.#log });
      opened.journal = journal;
      journal.open();
      const flush = new Flush({
        journal,
        definitions: noDefinitions,
        clickhouse,
        quarantine: new Quarantine({ io, lanes: captureLanes }, "/data"),
        folder: folders.flush,
        counts: { stored: () => {}, quarantined: () => {}, seconds: () => {} },
        clock,
        log: this.#log,
      });
      flush.start();
      this.#journal = journal;
      return { journal, flush };
    } catch {
      // A start that fails ends the process; the next one finds what is there.
      machine.life.isOver = true;
      io.end();
      return undefined;
    }
  }

  #live(end: End): void {
    const { chance } = this;
    const machine = this.#machine;
    // Some die while they recover, most in the middle of work.
    const diesAt = end !== "close" && chance.is(0.6) ? 1 + chance.below(chance.is(0.3) ? 30 : 400) : Infinity;
    const begun = this.#begin(this.#plan.disk, diesAt);
    if (begun) {
      for (let client = 0; client < this.#plan.clients; client++) this.#client(begun.journal, machine.life);
      this.#step(machine.time.now + chance.next() * lifeMs);
      if (end === "close" && !machine.life.isOver) this.#close(begun);
    }
    this.#endLife(end);
  }

  get chance(): Chance {
    return this.#chance;
  }

  #endLife(end: End): void {
    const machine = this.#machine;
    const { calls } = machine.disk;
    this.#log.info("a life ends", { end, calls, files: machine.disk.list(folders.journal) });
    machine.life.isOver = true;
    this.#journal = undefined;
    this.#isClosing = false;
    machine.disk.begin({ fails: 0, shortens: 0, bytesMax: Infinity }, Infinity);
    this.#io?.end();
    if (end === "power") {
      machine.disk.losePower();
      // An embedded engine is on the same machine.
      if (this.#plan.embedded) this.#engine.losePower();
      machine.bootId = bootIdOf(this.#chance);
      this.#lostPower = true;
    }
    if (this.#plan.clockGoesBack) this.#skewMs -= this.#chance.below(10_000);
    machine.time.now += this.#chance.below(2000);
  }

  /** Runs what is due, until this moment or the server's end. */
  #step(until: number, isDone: () => boolean = () => false): void {
    const { time, life } = this.#machine;
    drainMicrotasks();
    while (!life.isOver && !isDone()) {
      const timer = time.next();
      if (!timer) return;
      if (timer.at > until) {
        // It is not due yet: back it goes.
        time.now = until;
        time.schedule(timer.at - until, timer.act, timer.life);
        return;
      }
      timer.act();
      drainMicrotasks();
    }
  }

  /** Sends requests, one after the other, at any moment. */
  #client(journal: CaptureJournal, life: Life): void {
    const { time, chance } = this.#machine;
    const turn = (): void => {
      if (life.isOver || this.#isClosing) return;
      const lane = chance.is(0.3) ? journal.historical : journal.live;
      const rows = this.#append(journal, lane, chance.is(0.03) ? 20 : 1 + chance.below(3));
      const answered = (isKept: boolean): void => {
        if (life.isOver) return;
        for (const n of rows) {
          this.#sent[n]!.isAcknowledged = isKept;
          // A refused row may come back when the disk refused to cut it off too: it may be late then.
          if (!isKept) this.#open.delete(n);
        }
        this.#noteWatermark(journal);
        time.schedule(chance.next() * 100, turn, life);
      };
      lane.commit().then(
        () => answered(true),
        () => answered(false),
      );
    };
    time.schedule(chance.next() * 100, turn, life);
  }

  #append(journal: CaptureJournal, lane: CaptureJournal["live"], count: number): number[] {
    const numbers: number[] = [];
    const isPoisoned = this.#chance.is(this.#plan.poisons * count);
    for (let i = 0; i < count; i++) {
      const n = this.#sent.length;
      const properties = `{"n":${n},"$session_id":"s${n % 7}"${isPoisoned && i === 0 ? `,"${poison}":1` : ""}}`;
      const row = this.#row;
      const created_at = journal.stamp();
      Object.assign(row, { project_id: 1, event: text("kept"), distinct_id: text("d"), created_at });
      Object.assign(row, {
        properties: text(properties),
        timestamp: this.#chance.of(moments) * 1000,
      });
      new DataView(row.uuid.buffer).setBigUint64(8, BigInt(n), true);
      lane.append(row);
      this.#sent.push({ properties, isAcknowledged: false });
      this.#open.set(n, created_at);
      numbers.push(n);
    }
    return numbers;
  }

  #noteWatermark(journal: CaptureJournal): void {
    this.#watermark = Math.max(this.#watermark, journal.watermarks().derived);
  }

  /** What is stored now must not be older than a watermark that was published before. */
  #compareWatermark(): void {
    if (this.#plan.clockGoesBack) return;
    for (const [n, created_at] of this.#open) {
      const rows = this.#engine.rows.get(uuidOf(n));
      if (!rows) continue;
      this.#open.delete(n);
      if (created_at < this.#watermark && !rows[0]!.isLate)
        this.#problems.push(`row ${n} came behind the watermark`);
    }
    if (this.#journal && !this.#machine.life.isOver) this.#noteWatermark(this.#journal);
  }

  #close({ journal, flush }: { journal: CaptureJournal; flush: Flush }): void {
    let isClosed = false;
    this.#isClosing = true;
    const close = async (): Promise<void> => {
      await journal.close();
      await flush.drain(30_000);
      await journal.release();
    };
    const done = (): void => {
      isClosed = true;
    };
    void close().then(done, done);
    this.#step(this.#machine.time.now + 600_000, () => isClosed);
    if (!isClosed && !this.#machine.life.isOver) this.#problems.push("a stop does not come to an end");
  }

  /** Nothing fails any more: everything is stored, and the files are gone. */
  #rest(): void {
    this.#engine.faults = { goesWrong: 0 };
    const begun = this.#begin({ fails: 0, shortens: 0, bytesMax: Infinity }, Infinity);
    if (!begun) {
      this.#problems.push("a start on a sound disk fails");
      return;
    }
    const { time } = this.#machine;
    const isDone = () => begun.journal.pending().events === 0;
    this.#step(time.now + restMsMax, isDone);
    if (!isDone()) this.#problems.push("some rows are never stored");
    this.#close(begun);
    const left = this.#machine.disk.list(folders.journal).filter((name) => name.endsWith(".segment"));
    if (left.length > 0) this.#problems.push(`segments are left: ${left.join(" ")}`);
    this.#machine.life = { isOver: false };
    this.#runLate();
  }

  /** What the engine still has under way. */
  #runLate(): void {
    this.#step(this.#machine.time.now + restMsMax);
    this.#machine.life.isOver = true;
  }

  #judge(): SeedResult {
    const result = { lost: 0, doubled: 0, invented: 0, collapsed: 0 };
    const quarantined = this.#quarantined();
    for (const [uuid, rows] of this.#engine.rows) {
      this.#storedRows++;
      const sent = this.#sent[numberOf(uuid)];
      const isOther = rows.some(
        (row) => row.properties !== sent?.properties || row.created_at !== rows[0]!.created_at,
      );
      if (isOther) result.invented++;
      const own = rows.filter(({ isLate }) => !isLate);
      if (own.length > 1 && this.#plan.poisons === 0 && this.#plan.disk.fails === 0) result.doubled++;
      else if (rows.length > 1) result.collapsed++;
    }
    for (const [n, { isAcknowledged, properties }] of this.#sent.entries()) {
      if (!isAcknowledged || this.#engine.rows.has(uuidOf(n))) continue;
      if (properties.includes(poison) && quarantined.some((one) => one.includes(properties))) continue;
      result.lost++;
    }
    this.#judgeDerived();
    this.#judgeDamage();
    for (const kind of ["lost", "doubled", "invented"] as const) {
      if (result[kind] > 0) this.#problems.push(`${result[kind]} rows ${kind}`);
    }
    return {
      seed: this.#seed,
      lives: this.#plan.lives,
      acknowledged: this.#sent.filter(({ isAcknowledged }) => isAcknowledged).length,
      stored: this.#storedRows,
      ...result,
      quarantined: quarantined.length,
      problems: this.#problems,
    };
  }

  /**
   * What is stored is derived, and its sessions and days too. A row of a sync that failed may be there for the next process and
   * be gone after a loss of power: it was refused, and need not be.
   */
  #judgeDerived(): void {
    const { derived, days, rows } = this.#engine;
    const isSound = this.#plan.disk.fails === 0;
    const due = [...rows].filter(([uuid]) => isSound || this.#sent[numberOf(uuid)]?.isAcknowledged);
    const without = (batches: Set<bigint>): number =>
      due.filter(([, same]) => !same.some(({ batch }) => batches.has(batch))).length;
    if (without(derived) > 0) this.#problems.push(`${without(derived)} rows are not derived`);
    const alone = due.filter(([uuid]) => !this.#engine.isInSession(uuid)).length;
    if (alone > 0) this.#problems.push(`${alone} rows are in no session`);
    const isOld = ({ timestamp }: StoredRow) => timestamp <= moments[0] * 1000;
    // All have one name: of old ones, one of the latest is enough.
    const isOldInDays = [...rows].some(([uuid, [row]]) => isOld(row!) && days.has(uuid));
    const dayless = due.filter(([uuid, [row]]) => !days.has(uuid) && !(isOld(row!) && isOldInDays)).length;
    if (dayless > 0) this.#problems.push(`${dayless} rows are in no day`);
  }

  /**
   * A kill or a loss of power tears what nobody was told of: no row may be told as lost. Where the disk fails again and
   * again, notes fail too, and what is there may be told as missing.
   */
  #judgeDamage(): void {
    if (this.#plan.disk.fails > 0) return;
    if (this.#damage.rows > 0) this.#problems.push(`${this.#damage.rows} rows are told as lost`);
    if (this.#damage.files > 0 && !this.#lostPower) {
      this.#problems.push("a kill was taken for damage");
    }
  }

  #quarantined(): string[] {
    const { disk } = this.#machine;
    return disk
      .list(folders.quarantine)
      .filter((name) => name.endsWith(".segment"))
      .map((name) => Buffer.from(disk.find(`${folders.quarantine}/${name}`)!.content()).toString("latin1"));
  }
}

function text(value: string): { source: Uint8Array; from: number; to: number } {
  const source = toBytes(value);
  return { source, from: 0, to: source.length };
}

/** As the engine shows it. */
function uuidOf(n: number): string {
  const low = n.toString(16).padStart(16, "0");
  return `00000000-0000-0000-${low.slice(0, 4)}-${low.slice(4)}`;
}

function numberOf(uuid: string): number {
  return Number.parseInt(uuid.slice(19).replace("-", ""), 16);
}

function bootIdOf(chance: Chance): string {
  return `0000${chance.below(2 ** 31).toString(16)}`;
}

// A ClickHouse as a flush sees it, kept in memory: it stores an INSERT partition by partition, each whole or not at
// all. It may fail before, after, and in between, answer late or never, run an INSERT twice or long after its client
// has given it up, and forget to derive what it stored when it fails. A file that it was told to read it opens at once
// and reads when it runs.

import type { ClickHouse, NativeBody, QueryOptions } from "../../../src/storage/clickhouse/clickhouse.ts";
import { ClickHouseError } from "../../../src/storage/clickhouse/error.ts";
import { type NativeRow, readBlocks } from "../../support/native_rows.ts";
import { type Life, machine } from "./machine.ts";

export interface StoredRow {
  batch: bigint;
  row: number;
  timestamp: number;
  created_at: number;
  /** What the sender wrote. */
  properties: string;
  /** Stored when its client had its answer, or was dead: nobody can keep the engine from that. */
  isLate: boolean;
}

export interface EngineFaults {
  /** The probability that a statement goes wrong in one of the ways. */
  goesWrong: number;
}

/** In properties: the engine refuses such a row for good. */
export const poison = "poison";

/** How an INSERT goes wrong. */
const ways = ["before", "between", "after", "hangs", "twice", "late answer"] as const;

const transient: readonly [string, string][] = [
  ["252", "TOO_MANY_PARTS"],
  ["241", "MEMORY_LIMIT_EXCEEDED"],
  ["ECONNRESET", "NETWORK"],
  ["1000", "POCO_EXCEPTION"],
];

export class Engine {
  /** By uuid: all rows, those that replace each other too. */
  readonly rows = new Map<string, StoredRow[]>();
  readonly batches = new Set<bigint>();
  readonly derived = new Set<bigint>();
  /** The uuids of events whose days are derived, and of those whose sessions are; hashes of those that came folded. */
  readonly days = new Set<string>();
  readonly #sessions = new Set<string>();
  readonly #folded = new Set<number>();
  readonly #uuids = new Map<bigint, string[]>();
  faults: EngineFaults = { goesWrong: 0 };
  /** Rises when it loses power: what it was doing then is not done. */
  #starts = 0;
  /** Called when rows have been stored. */
  onStored: () => void = () => {};

  losePower(): void {
    this.#starts++;
  }

  /** What a server that lives now talks to. */
  client(embedded: boolean): ClickHouse {
    const client: Partial<ClickHouse> = {
      embedded,
      insertNative: (_table, body, options) =>
        this.#insert((statement, partitions) => this.#run(statement, partitions), body, options),
      insertDerived: (insert, body, options) => {
        const ofDays = insert.text("").includes("INTO event_days");
        const derive = (statement: Statement) =>
          ofDays ? this.#deriveDays(statement) : this.#deriveSessions(statement);
        return this.#insert(derive, body, options);
      },
      query: <Row>(_text: string, params?: Record<string, unknown>) =>
        this.#answer(() => this.#found(params!["batches"] as bigint[]) as Row[]),
      command: (text, params) =>
        this.#answer(() => {
          const batches = params!["batches"] as bigint[];
          const ofDays = text.includes("INTO event_days");
          const into = ofDays ? this.days : text.includes("INTO session_facts") ? this.#sessions : undefined;
          for (const batch of batches) {
            if (!into) this.derived.add(batch);
            else for (const uuid of this.#uuids.get(batch) ?? []) into.add(uuid);
          }
        }),
    };
    return client as ClickHouse;
  }

  #found(batches: bigint[]): { batch: string }[] {
    return batches.filter((batch) => this.batches.has(batch)).map((batch) => ({ batch: String(batch) }));
  }

  /** A short statement: it may fail before it is done, and after. */
  #answer<Answer>(act: () => Answer): Promise<Answer> {
    const { time, chance, life } = machine();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const [isWrong, isDone, ms] = [chance.is(this.faults.goesWrong), chance.is(0.5), chance.next() * 20];
    time.schedule(
      ms,
      () => {
        if (isWrong && !isDone) return reject(failure());
        const answer = act();
        if (isWrong) reject(failure());
        else resolve(answer);
      },
      life,
    );
    return promise;
  }

  /** `act` does it, or as many partitions of it, and returns a refusal. */
  #insert(
    act: (statement: Statement, partitions: number) => ClickHouseError | undefined,
    body: NativeBody,
    options: QueryOptions = {},
  ): Promise<void> {
    const { time, chance, life, disk } = machine();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const way = chance.is(this.faults.goesWrong) ? chance.of(ways) : "well";
    const opened = "path" in body ? disk.find(body.path) : undefined;
    if ("path" in body && !opened) {
      time.schedule(1, () => reject(failure()), life);
      return promise;
    }
    const read = () => ("path" in body ? opened!.content() : Buffer.concat(body.bytes));
    // Bytes travel at once; of a server that dies meanwhile the statement may run all the same.
    const bytes = "path" in body ? undefined : read();
    const statement: Statement = {
      bytes: () => bytes ?? read(),
      life,
      isAnswered: false,
      start: this.#starts,
    };
    const settle = (answer: () => void): void => {
      if (!life.isOver) answer();
      statement.isAnswered = true;
    };
    const run = (partitions: number): ClickHouseError | undefined => act(statement, partitions);
    const end = (refusal: ClickHouseError | undefined): void =>
      settle(() => (refusal ? reject(refusal) : resolve()));
    const soon = 1 + chance.next() * 30;
    const everything = Number.POSITIVE_INFINITY;
    if (way === "hangs") {
      // Scaled with the lives of servers, of which few are as long as the client's patience.
      const timeoutMs = (options.timeoutMs ?? 60_000) / 1000;
      const late = new ClickHouseError("ClickHouse did not answer", "TIMEOUT", "TIMEOUT");
      time.schedule(timeoutMs, () => settle(() => reject(late)), life);
      if (chance.is(0.6)) time.schedule(chance.next() * timeoutMs * 8, () => run(everything), undefined);
      return promise;
    }
    time.schedule(
      soon,
      () => {
        if (way === "before") return settle(() => reject(failure()));
        const refusal = run(way === "between" ? chance.below(4) : everything);
        if (way === "between" || way === "after") return settle(() => reject(refusal ?? failure()));
        if (way === "late answer")
          return void time.schedule(chance.next() * 9000, () => end(refusal), undefined);
        end(refusal);
        // Only what travels can be sent twice on its way: a file is read for one statement.
        if (way === "twice" && bytes) time.schedule(chance.next() * 50, () => run(everything), undefined);
      },
      chance.is(0.5) ? life : undefined,
    );
    return promise;
  }

  /** Stores the first so many partitions. Returns the refusal when a row is refused, or the bytes are no blocks. */
  #run({ bytes, life, isAnswered, start }: Statement, partitions: number): ClickHouseError | undefined {
    const { chance } = machine();
    if (start !== this.#starts) return undefined;
    let rows: NativeRow[];
    try {
      rows = readBlocks(bytes());
    } catch {
      return new ClickHouseError("the block is cut short", "33", "CANNOT_READ_ALL_DATA");
    }
    const isRefused = rows.some(({ properties }) => String(properties).includes(poison));
    const years = new Map<number, NativeRow[]>();
    for (const row of rows) {
      const year = new Date(Number(row["timestamp"]) / 1000).getUTCFullYear();
      const part = years.get(year);
      if (part) part.push(row);
      else years.set(year, [row]);
    }
    const stored = isRefused ? chance.below(2) : partitions;
    // In no order that anybody knows.
    const parts = [...years.values()].map((part) => ({ part, turn: chance.next() }));
    for (const { part } of parts.toSorted((a, b) => a.turn - b.turn).slice(0, stored)) {
      if (part.some(({ properties }) => String(properties).includes(poison))) break;
      this.#store(part, isAnswered || life.isOver);
      // A failure behind the rows leaves what is derived from them undone.
      if (partitions === Number.POSITIVE_INFINITY && !isRefused) this.#derive(part);
    }
    this.onStored();
    return isRefused ? new ClickHouseError("a row is refused", "469", "VIOLATED_CONSTRAINT") : undefined;
  }

  /** Derives sessions, of rows that were folded or of events; refused when such an event's row is refused. */
  #deriveSessions({ bytes, start }: Statement): ClickHouseError | undefined {
    if (start !== this.#starts) return undefined;
    for (const { uuid, properties, counted } of readBlocks(bytes())) {
      for (const event of (counted ?? []) as number[]) this.#folded.add(event >>> 2);
      if (uuid === undefined) continue;
      if (String(properties).includes(poison)) {
        return new ClickHouseError("a row is refused", "469", "VIOLATED_CONSTRAINT");
      }
      this.#sessions.add(String(uuid));
    }
    return undefined;
  }

  /** Whether the event of this uuid counts in a session. */
  isInSession(uuid: string): boolean {
    return this.#sessions.has(uuid) || this.#folded.has(hashOf(uuid) >>> 2);
  }

  /** Derives days, of blocks without the columns that follow. */
  #deriveDays({ bytes, start }: Statement): undefined {
    if (start !== this.#starts) return;
    for (const { uuid } of readBlocks(bytes())) this.days.add(String(uuid));
  }

  #store(part: NativeRow[], isLate: boolean): void {
    for (const { uuid, _batch, _row, timestamp, created_at, properties } of part) {
      const batch = _batch as bigint;
      const row: StoredRow = {
        batch,
        row: Number(_row),
        timestamp: Number(timestamp),
        created_at: Number(created_at),
        properties: String(properties),
        isLate,
      };
      const same = this.rows.get(String(uuid));
      if (same) same.push(row);
      else this.rows.set(String(uuid), [row]);
      this.batches.add(batch);
      const uuids = this.#uuids.get(batch);
      if (uuids) uuids.push(String(uuid));
      else this.#uuids.set(batch, [String(uuid)]);
    }
  }

  #derive(part: NativeRow[]): void {
    for (const { _batch } of part) this.derived.add(_batch as bigint);
  }
}

interface Statement {
  bytes(): Uint8Array;
  life: Life;
  isAnswered: boolean;
  start: number;
}

function failure(): ClickHouseError {
  const [code, type] = machine().chance.of(transient);
  return new ClickHouseError("it went wrong", code, type);
}

/** The hash by which a session counts an event: murmur's finalizer, twice, over both halves of its uuid. */
function hashOf(uuid: string): number {
  const hex = uuid.replaceAll("-", "");
  let hash = BigInt(`0x${hex.slice(0, 16)}`) ^ BigInt(`0x${hex.slice(16)}`);
  for (const factor of [0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n, 0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n]) {
    hash = BigInt.asUintN(64, (hash ^ (hash >> 33n)) * factor);
    if (factor === 0xc4ceb9fe1a85ec53n) hash ^= hash >> 33n;
  }
  return Number(BigInt.asUintN(32, hash));
}

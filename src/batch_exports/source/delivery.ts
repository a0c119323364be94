// What every destination gets, and how the statements of an export run in ClickHouse: one thread, limited memory,
// killed on abort.

import type { Addresses } from "../../access/address.ts";
import type { Clock } from "../../core/clock.ts";
import { exportLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { typedColumn } from "./columns.ts";
import { ExportError, exportError } from "../destinations/failure.ts";
import {
  countOf,
  daysOf,
  describeOf,
  dropHeldOf,
  holdOf,
  killOf,
  type ExportSource,
  type ExportStatement,
} from "./store.ts";

/** The services of the server that deliveries use. */
export interface Means {
  clickhouse: ClickHouse;
  addresses: Addresses;
  clock: Clock;
  /** The folder for File destinations; undefined: no files. */
  exportFileDir: string | undefined;
}

/** One attempt to deliver the rows of an interval. */
export interface ExportWork extends Means {
  source: ExportSource;
  /** Part of every statement, by which it is found, also by another process. */
  mark: string;
  abort: AbortSignal;
  /** The days of the rows' timestamps. */
  days: readonly string[];
  rows: number;
}

export type Writing = Means & Pick<ExportWork, "abort" | "mark">;

type Settings = Record<string, string | number>;

/** For all statements of an export: captures must not be slowed down. */
const reading: Settings = {
  max_threads: 1,
  max_insert_threads: 1,
  max_memory_usage: String(exportLimits.memoryBytesMax),
  max_execution_time: 0,
  output_format_json_escape_forward_slashes: 0,
  date_time_output_format: "simple",
};

const readingOptions = { timeoutMs: limits.statementMsLongest };

/** The rows of a short answer, held in memory. @throws ExportError */
export async function ask<Row>(
  { clickhouse, abort }: Pick<ExportWork, "clickhouse" | "abort">,
  { text, params }: ExportStatement,
  settings: Settings = {},
): Promise<Row[]> {
  return await clickhouse
    .query<Row>(text, params, {
      ...readingOptions,
      abort,
      settings: { ...reading, ...settings },
      kind: "export",
    })
    .catch((thrown: unknown) => {
      throw exportError(thrown);
    });
}

export function rowStream(
  { clickhouse, abort }: ExportWork,
  { text, params }: ExportStatement,
  format: string,
  own: Settings = {},
): AsyncGenerator<Uint8Array> {
  const settings = { ...reading, cancel_http_readonly_queries_on_client_close: 1, ...own };
  return clickhouse.stream(`${text} FORMAT ${format}`, params, {
    ...readingOptions,
    abort,
    settings,
  });
}

export type ExportWorkSource = Omit<ExportWork, "days" | "rows">;

/**
 * Counts what is to be delivered and passes it to `use`. Persons are copied to a table of their own until that has
 * ended: they may change, and the rows written must be the rows counted.
 */
export async function measured<T>(
  work: ExportWorkSource,
  use: (delivery: ExportWork) => Promise<T>,
): Promise<T> {
  if (work.source.model === "events") return await use({ ...work, ...(await measure(work)) });
  const held = crypto.randomUUID();
  try {
    await write(work, holdOf(work.source, held, work.mark), {});
    const kept = { ...work, source: { ...work.source, held } };
    return await use({ ...kept, ...(await measure(kept)) });
  } finally {
    const { text, params } = dropHeldOf(held, work.clickhouse.tables);
    // A table that could not be dropped is dropped later, by its age.
    await work.clickhouse.command(text, params, { timeoutMs: limits.connectMsMax }).catch(() => {});
  }
}

async function measure(work: ExportWorkSource): Promise<{ days: readonly string[]; rows: number }> {
  const found = await ask<{ day: string }>(work, daysOf(work.source));
  const days = found.map(({ day }) => day);
  if (days.length === 0) return { days, rows: 0 };
  const [counted] = await ask<{ rows: string }>(work, countOf(work.source, days));
  return { days, rows: Number(counted?.rows ?? 0) };
}

/** The columns of a native_query get the types that the engine gives them, and are written accordingly. */
export async function typed(work: ExportWork): Promise<ExportWork> {
  const { source, days } = work;
  if (!source.own) return work;
  const types = await ask<{ type: string }>(work, describeOf(source, days));
  const columns = source.columns.map((column, i) => typedColumn(column, types[i]?.type ?? "String"));
  return { ...work, source: { ...source, columns } };
}

/**
 * Runs a statement that writes, to its end. On abort it is killed, and this waits until it is gone: a retry must not
 * run beside it.
 */
export async function write(
  work: Pick<ExportWork, "clickhouse" | "abort" | "mark">,
  { text, params }: ExportStatement,
  settings: Settings,
): Promise<void> {
  const { clickhouse, abort, mark } = work;
  abort.throwIfAborted();
  const giveUp = new AbortController();
  let ended = false;
  const writing = clickhouse
    .command(text, params, {
      timeoutMs: limits.statementMsLongest,
      abort: giveUp.signal,
      settings: { ...reading, ...settings },
    })
    .finally(() => (ended = true));
  const stop = async (): Promise<void> => {
    for (let kills = 0; !ended && kills < killsMax; kills++) {
      await kill(clickhouse, mark).catch(() => {});
      await Bun.sleep(killAgainMs);
    }
    giveUp.abort();
  };
  const onAbort = (): void => void stop();
  abort.addEventListener("abort", onAbort, { once: true });
  try {
    await writing;
  } catch (thrown) {
    if (abort.aborted) throw new ExportError("the export was stopped", false);
    throw thrown;
  } finally {
    abort.removeEventListener("abort", onAbort);
  }
}

const killAgainMs = 250;
const killsMax = 40;

/** Asks ClickHouse to kill the statements with this mark; resolves before they have ended. */
export async function kill(clickhouse: ClickHouse, mark: string): Promise<void> {
  const { text, params } = killOf(mark, clickhouse.tables);
  await clickhouse.command(text, params, { timeoutMs: limits.connectMsMax });
}

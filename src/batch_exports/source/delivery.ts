// What every destination is given, and how the statements of an export run in ClickHouse: one thread, bounded memory,
// stopped when asked. Never decides what to export.

import type { Addresses } from "../../access/address.ts";
import type { Clock } from "../../core/clock.ts";
import { exportLimits } from "../limits.ts";
import { limits } from "../../core/limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { typedColumn } from "./columns.ts";
import { DeliveryError, deliveryError } from "../destinations/failure.ts";
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

/** What a server has to move data with. */
export interface Means {
  clickhouse: ClickHouse;
  addresses: Addresses;
  clock: Clock;
  /** Under which File destinations may write; undefined: nowhere. */
  exportFileDir: string | undefined;
}

/** One attempt to bring the rows of an interval to their destination. */
export interface Delivery extends Means {
  source: ExportSource;
  /** Stands in every statement, so that it can be found again, whoever began it. */
  mark: string;
  abort: AbortSignal;
  /** The days on which the rows happened. */
  days: readonly string[];
  /** How many rows there are. */
  rows: number;
}

type Settings = Record<string, string | number>;

/** For everything an export asks of ClickHouse: a capture beside it must not notice. */
const reading: Settings = {
  max_threads: 1,
  max_insert_threads: 1,
  max_memory_usage: String(exportLimits.exportMemoryBytesMax),
  max_execution_time: 0,
  output_format_json_escape_forward_slashes: 0,
  date_time_output_format: "simple",
};

const readingOptions = { timeoutMs: limits.statementMsLongest };

/** Rows of a small answer. */
export async function ask<Row>(
  { clickhouse, abort }: Pick<Delivery, "clickhouse" | "abort">,
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
      throw deliveryError(thrown);
    });
}

/** The rows of a SELECT in a format, as they come. */
export function rowsOf(
  { clickhouse, abort }: Delivery,
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

export type DeliverySource = Omit<Delivery, "days" | "rows">;

/**
 * Looks at what there is to deliver, and gives it to `use`. Persons are set aside until that has ended: they may
 * change at any time, and what is counted has to be what is written.
 */
export async function measured<T>(work: DeliverySource, use: (delivery: Delivery) => Promise<T>): Promise<T> {
  if (work.source.model === "events") return await use({ ...work, ...(await measure(work)) });
  const held = crypto.randomUUID();
  try {
    await write(work, holdOf(work.source, held, work.mark), {});
    const kept = { ...work, source: { ...work.source, held } };
    return await use({ ...kept, ...(await measure(kept)) });
  } finally {
    const { text, params } = dropHeldOf(held);
    // What could not be dropped goes by its age.
    await work.clickhouse.command(text, params, { timeoutMs: limits.connectMsMax }).catch(() => {});
  }
}

async function measure(work: DeliverySource): Promise<{ days: readonly string[]; rows: number }> {
  const found = await ask<{ day: string }>(work, daysOf(work.source));
  const days = found.map(({ day }) => day);
  if (days.length === 0) return { days, rows: 0 };
  const [counted] = await ask<{ rows: string }>(work, countOf(work.source, days));
  return { days, rows: Number(counted?.rows ?? 0) };
}

/** Columns of the owner's own get the types that the engine gives them, and are written as those types are. */
export async function typed(work: Delivery): Promise<Delivery> {
  const { source, days } = work;
  if (!source.own) return work;
  const types = await ask<{ type: string }>(work, describeOf(source, days));
  const columns = source.columns.map((column, i) => typedColumn(column, types[i]?.type ?? "String"));
  return { ...work, source: { ...source, columns } };
}

/**
 * Runs a statement that writes, to its end. When the delivery is aborted it is killed, and this waits for that:
 * who runs it again must not meet its ghost.
 */
export async function write(
  work: Pick<Delivery, "clickhouse" | "abort" | "mark">,
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
    for (let asked = 0; !ended && asked < killsMax; asked++) {
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
    if (abort.aborted) throw new DeliveryError("the export was stopped", false);
    throw thrown;
  } finally {
    abort.removeEventListener("abort", onAbort);
  }
}

const killAgainMs = 250;
const killsMax = 40;

/** Stops whatever runs under a mark. */
export async function kill(clickhouse: ClickHouse, mark: string): Promise<void> {
  const { text, params } = killOf(mark);
  await clickhouse.command(text, params, { timeoutMs: limits.connectMsMax });
}

// The services of destinations, and the statements of an export in ClickHouse: on one thread, in limited memory, killed
// on abort.

import type { Addresses } from "../../access/address.ts";
import { sleep } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { ClickHouse } from "../../storage/clickhouse/clickhouse.ts";
import { inWrittenOrder } from "../../storage/clickhouse/read.ts";
import type { Uses } from "../../storage/services.ts";
import { ExportError, exportError } from "../failure.ts";
import { exportLimits } from "../limits.ts";
import { type ExportSource, type ExportStatement, killStatement } from "./store.ts";

export interface ExportServices extends Uses<"clickhouse" | "clock"> {
  addresses: Addresses;
  /** The folder for File destinations; undefined: no files. */
  exportFileDir: string | undefined;
}

/** One attempt to deliver the rows of an interval. */
export interface ExportWork extends ExportServices {
  source: ExportSource;
  /** The `log_comment` of every statement, by which any process finds it. */
  tag: string;
  abort: AbortSignal;
  /** The days of the rows' timestamps. */
  days: readonly string[];
  rows: number;
  /** Rows that the destination refused, which are put aside. The first ones are named. */
  refused: { count: number; readonly named: RefusedRow[] };
  /** Stores the keys of all files before the first is written, so that a later attempt finds those to remove. */
  record(keys: readonly string[]): Promise<void>;
}

export interface RefusedRow {
  uuid: string;
  /** Names the column where it is known, and no value. */
  reason: string;
  thrown: unknown;
}

export type UncountedWork = Omit<ExportWork, "days" | "rows">;
export type Writing = ExportServices & Pick<ExportWork, "abort" | "tag">;

type Settings = Record<string, string | number>;

/** Settings of all statements of an export: captures must not be slowed down. */
const baseSettings: Settings = {
  ...inWrittenOrder,
  max_threads: 1,
  max_insert_threads: 1,
  max_memory_usage: String(exportLimits.memoryBytesMax),
  max_bytes_before_external_sort: exportLimits.sortBytesMax,
  max_execution_time: 0,
  output_format_json_escape_forward_slashes: 0,
  date_time_output_format: "simple",
};

const queryOptions = { timeoutMs: limits.longStatementMsMax };

/** @throws ExportError, which is final, for a private address. */
export async function checkHost(addresses: Addresses, host: string): Promise<void> {
  const refusal = await addresses.findResolvedRefusal(host);
  if (refusal !== undefined) throw new ExportError(refusal, true);
}

/** The rows of a short answer, held in memory. @throws ExportError */
export async function queryRows<Row>(
  { clickhouse, abort }: Pick<ExportWork, "clickhouse" | "abort">,
  { text, params }: ExportStatement,
  settings: Settings = {},
): Promise<Row[]> {
  return await clickhouse
    .query<Row>(text, params, {
      ...queryOptions,
      abort,
      settings: { ...baseSettings, ...settings },
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
  extra: Settings = {},
): AsyncGenerator<Uint8Array> {
  const settings = { ...baseSettings, cancel_http_readonly_queries_on_client_close: 1, ...extra };
  return clickhouse.stream(`${text} FORMAT ${format}`, params, {
    ...queryOptions,
    abort,
    settings,
  });
}

/**
 * Runs a statement that writes, to its end. On abort it is killed, and this waits for its end: a retry must not run
 * beside it.
 */
export async function runInsert(work: Writing, { text, params }: ExportStatement, settings: Settings) {
  const { clickhouse, abort, tag } = work;
  abort.throwIfAborted();
  const abortStatement = new AbortController();
  let ended = false;
  const options = {
    timeoutMs: limits.longStatementMsMax,
    abort: abortStatement.signal,
    settings: { ...baseSettings, ...settings },
  };
  const writing = clickhouse
    .command(text, params, clickhouse.omitHidden(params, options))
    .finally(() => (ended = true));
  const stop = async (): Promise<void> => {
    for (let kills = 0; !ended && kills < killsMax; kills++) {
      await killStatements(clickhouse, tag).catch(() => {});
      await sleep(killAgainMs);
    }
    abortStatement.abort();
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

/** Kills the statements with this tag in ClickHouse; resolves before they have ended. */
export async function killStatements(clickhouse: ClickHouse, tag: string): Promise<void> {
  const { text, params } = killStatement(tag, clickhouse.tables);
  await clickhouse.command(text, params, { timeoutMs: limits.connectMsMax });
}

// Errors of stores that are unreachable, busy or too slow, as faults: which of them a retry may overcome.

import { Fault, unavailable } from "../core/fault.ts";
import { toCode } from "../core/log.ts";
import { wordsIn } from "../core/words.ts";
import { busyErrors, ClickHouseError, describeExcess, isTooHeavy } from "../storage/clickhouse/clickhouse.ts";

/** A fault for a store that is unreachable or too slow: neither our error nor the client's. */
export function storeFault(error: unknown): Fault | undefined {
  if (!(error instanceof ClickHouseError)) return accountFault(toCode(error));
  // No Retry-After: the same request would be refused again, at rest, too.
  if (isTooHeavy(error)) return new Fault("invalid_input", `The query ${describeExcess(error)}. ${narrower}`);
  const detail = clickhouseUnavailable.get(error.type);
  return detail === undefined ? undefined : unavailable(detail);
}

function accountFault(code: string): Fault | undefined {
  if (postgresUnavailable.has(code)) return unavailable("The account store cannot be reached. Please retry.");
  // Checked before: its project or organization was deleted meanwhile.
  return code === foreignKeyViolated ? new Fault("not_found", "Not found.") : undefined;
}

const foreignKeyViolated = "23503";

/** Whether our queue, or the engine's, was full, or others left no time for the statement. */
export function isBusy(error: unknown): boolean {
  return error instanceof ClickHouseError && clickhouseUnavailable.get(error.type) === busyStore;
}

const narrower = "Ask for less: fewer rows, a shorter time, or a narrower filter.";
const busyStore = "The event store is busy. Please retry.";

const unreachable = wordsIn("ALL_CONNECTION_TRIES_FAILED NETWORK NETWORK_ERROR SOCKET_TIMEOUT UNKNOWN");

/** ClickHouse's errors that a retry may overcome, and their details; any other is an error of this server. */
const clickhouseUnavailable: ReadonlyMap<string, string> = new Map([
  ...unreachable.map((type) => [type, "The event store cannot be reached. Please retry."] as const),
  // Its operator can give the grant that the log names.
  ["ACCESS_DENIED", "The event store denies this to the server, whose log names the missing grant."],
  ["TIMEOUT", "The event store does not answer. Please retry."],
  // Counts all statements together: a single one that is too heavy is no trouble of the store.
  ["MEMORY_LIMIT_EXCEEDED", "The event store has no memory free. Please retry."],
  ...busyErrors.map((type) => [type, busyStore] as const),
]);

/**
 * Codes of Postgres and of its client that a retry may overcome. 40001, 40P01: two transactions met; 25006, 55P03: it
 * is read only, or locked; 53xxx, 58030: it has no disk space, memory or connections; 57014 to 57P03: it was told to
 * end the statement, stops, has crashed, or does not accept connections yet.
 */
const postgresUnavailable: ReadonlySet<string> = new Set(
  wordsIn(`
    CONNECTION_CLOSED CONNECTION_DESTROYED CONNECTION_ENDED CONNECT_TIMEOUT ECONNREFUSED ECONNRESET ENOTFOUND EPIPE
    ETIMEDOUT 25006 40001 40P01 53000 53100 53200 53300 55P03 57014 57P01 57P02 57P03 58030
  `),
);

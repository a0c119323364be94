// ClickHouse's errors: whether the same statement can succeed later.

import { toMembers } from "../../core/json/dictionary.ts";
import { toReason } from "../../core/log.ts";
import { wordsIn } from "../../core/words.ts";

export class ClickHouseError extends Error {
  /**
   * refused: the engine read the statement and its data, and the same bytes will always fail.
   * transient: any other error; an insert may or may not have happened.
   */
  readonly kind: "refused" | "transient";
  /** ClickHouse's number as text, or the code of a socket error. */
  readonly code: string;
  /** ClickHouse's name of the number, or NETWORK, TIMEOUT, UNKNOWN. */
  readonly type: string;

  constructor(message: string, code: string, type: string) {
    super(message);
    this.name = "ClickHouseError";
    this.kind = refusals.has(type) ? "refused" : "transient";
    this.code = code;
    this.type = type;
  }
}

/** Errors of an engine that has too much to do, or parts of which are away: the same statement succeeds later. */
export const busyErrors: readonly string[] = wordsIn(`
  ABORTED QUERY_WAS_CANCELLED QUERY_WAS_CANCELLED_BY_CLIENT TIMEOUT_EXCEEDED TOO_MANY_SIMULTANEOUS_QUERIES
  SERVER_OVERLOADED QUOTA_EXCEEDED CANNOT_SCHEDULE_TASK CANNOT_ALLOCATE_MEMORY NOT_ENOUGH_SPACE
  ALL_REPLICAS_ARE_STALE ALL_REPLICAS_LOST CANNOT_READ_FROM_SOCKET KEEPER_EXCEPTION S3_ERROR
`);

const ofServer: ReadonlySet<string> = new Set<string>([
  ...busyErrors,
  ...wordsIn(`
    TIMEOUT ACCESS_DENIED UNKNOWN_TABLE UNKNOWN_DATABASE ALL_CONNECTION_TRIES_FAILED NETWORK_ERROR SOCKET_TIMEOUT
    LOGICAL_ERROR UNKNOWN_EXCEPTION MEMORY_LIMIT_EXCEEDED
  `),
]);

/** Whether it is an error of the network, the server or its limits, and not of what the statement says. */
export function isOfServer({ type, code }: ClickHouseError): boolean {
  return !/^\d+$/.test(code) || ofServer.has(type);
}

/** The error of a statement that was ended because it, or its question, had used up its CPU-seconds. */
export class WorkExceeded extends ClickHouseError {
  constructor(neededSeconds: number, secondsMax: number) {
    const needed = Math.ceil(Math.max(neededSeconds, secondsMax + 1));
    super(`needs about ${needed} CPU-seconds; the limit is ${secondsMax}`, "160", "TOO_SLOW");
  }
}

/** The reason of an error for which isTooHeavy() holds, as a predicate of what was asked. */
export function describeExcess(error: ClickHouseError): string {
  if (error instanceof WorkExceeded) return error.message;
  if (!exceedsItsMemory(error)) return "has too long an answer";
  const [, used] = /would use ([\d.]+ \w+)/.exec(error.message) ?? [];
  return used ? `needs too much memory, ${used} or more` : "needs too much memory";
}

/**
 * Codes that concern only the statement's text or the rows' bytes. Not in the list are errors that time or an operator
 * can resolve: unknown tables, databases, columns and types (a migration may be running), limits of memory, time, parts
 * and partitions, read-only replicas, disks, keepers, access rights, and NOT_IMPLEMENTED of an older replica.
 */
const refusals: ReadonlySet<string> = new Set(
  wordsIn(`
    CANNOT_PARSE_TEXT CANNOT_PARSE_ESCAPE_SEQUENCE CANNOT_PARSE_QUOTED_STRING CANNOT_PARSE_INPUT_ASSERTION_FAILED
    CANNOT_PARSE_DATE CANNOT_PARSE_DATETIME CANNOT_PARSE_NUMBER CANNOT_PARSE_UUID CANNOT_PARSE_BOOL
    CANNOT_READ_ALL_DATA CANNOT_READ_ARRAY_FROM_TEXT CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN CANNOT_CONVERT_TYPE
    ARGUMENT_OUT_OF_BOUND DECIMAL_OVERFLOW INCORRECT_DATA SIZES_OF_COLUMNS_DOESNT_MATCH SYNTAX_ERROR
    TOO_LARGE_ARRAY_SIZE TOO_LARGE_STRING_SIZE TYPE_MISMATCH UNKNOWN_QUERY_PARAMETER BAD_QUERY_PARAMETER
    VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE VIOLATED_CONSTRAINT
  `),
);

/**
 * Whether the statement exceeded a limit that is the same at rest, so that repeating it makes things worse. No limit of
 * time is: an engine may be frozen, unreachable or busy with others.
 */
export function isTooHeavy(error: ClickHouseError): boolean {
  return heavy.has(error.type) || exceedsItsMemory(error);
}

/** The answer; undefined when the statement is too big. @throws any other error. */
export async function unlessTooBig<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  return await answer.catch((thrown: unknown) => {
    if (!isTooBig(thrown)) throw thrown;
    return undefined;
  });
}

/** Whether the statement exceeds its memory or the size of an answer: a smaller part of it may succeed. */
export function isTooBig(thrown: unknown): boolean {
  if (exceedsItsMemory(thrown)) return true;
  return thrown instanceof ClickHouseError && thrown.type === "TOO_MANY_ROWS_OR_BYTES";
}

/**
 * Whether the statement exceeded its own memory limit. When the limit of the server or of the user is exceeded, the
 * same statement may succeed a moment later.
 */
export function exceedsItsMemory(thrown: unknown): boolean {
  return isMemoryError(thrown) && !sharedLimit.test(thrown.message);
}

/** Whether the memory of the whole server was exceeded. */
export function exceedsSharedMemory(thrown: unknown): boolean {
  return isMemoryError(thrown) && sharedLimit.test(thrown.message);
}

function isMemoryError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && "type" in thrown && thrown.type === "MEMORY_LIMIT_EXCEEDED";
}

/** Whether this is no answer of ClickHouse: it came too late, or no statement was sent because others wait. */
export function isUnanswered(thrown: unknown): boolean {
  return thrown instanceof ClickHouseError && unanswered.has(thrown.type);
}

const unanswered: ReadonlySet<string> = new Set(wordsIn("TIMEOUT ABORTED TOO_MANY_SIMULTANEOUS_QUERIES"));

/** How messages about the memory of the server or of a user begin, in all versions. */
const sharedLimit =
  /^(?:Code: \d+\. DB::Exception: )?(?:\(total\)|User memory|Memory limit \((?:total|for user)\))/;

const heavy: ReadonlySet<string> = new Set(
  wordsIn("TOO_SLOW TOO_MANY_ROWS TOO_MANY_BYTES TOO_MANY_ROWS_OR_BYTES"),
);

/**
 * The error of an answer. Its type is the last name in brackets: a text of the statement or of a row, which the message
 * may quote, can look like one.
 */
export function readFailure(answer: string): Error {
  const code = /(?:Code|Error): (\d+)/.exec(answer)?.[1];
  const name = [...answer.matchAll(/\(([A-Z][A-Z0-9_]{2,})\)/g)].at(-1);
  if (code === undefined || !name) return new Error(answer);
  const message = answer.slice(0, name.index).split("Exception: ").at(-1)!;
  return new ClickHouseError(message, code, name[1]!);
}

/** Errors of the client carry code and type; those of sockets only a code. */
export function classified(thrown: unknown): ClickHouseError {
  if (thrown instanceof ClickHouseError) return thrown;
  const { code, type } = toMembers(thrown);
  if (typeof type === "string" && /^\d+$/.test(String(code)))
    return new ClickHouseError(toReason(thrown), String(code), type);
  if (typeof code === "string")
    return new ClickHouseError(`ClickHouse: ${toReason(thrown)}`, code, "NETWORK");
  return new ClickHouseError(`ClickHouse: ${toReason(thrown)}`, "UNKNOWN", "UNKNOWN");
}

/** The error of a statement that an engine leaves without an answer. */
export function noAnswer(): ClickHouseError {
  return new ClickHouseError("ClickHouse does not answer", "TIMEOUT", "TIMEOUT");
}

export function tooManyWait(): ClickHouseError {
  return new ClickHouseError(
    "too many statements wait for ClickHouse",
    "202",
    "TOO_MANY_SIMULTANEOUS_QUERIES",
  );
}

// Tries a statement that reads no table, to find out whether the engine refuses it.

import { limits } from "../../core/limits.ts";
import { wordsIn } from "../../core/words.ts";
import { type ClickHouse, ClickHouseError, type QueryOptions } from "./clickhouse.ts";

const trialOptions: QueryOptions = {
  timeoutMs: limits.healthMsMax,
  settings: { max_execution_time: 2, max_threads: 1, max_memory_usage: "100000000" },
};

/** The engine's reason for refusing the statement; undefined when it does not refuse, or does not answer. */
export async function refuseTrial(clickhouse: ClickHouse, text: string, params: Record<string, unknown>) {
  try {
    await clickhouse.query(text, params, trialOptions);
    return undefined;
  } catch (thrown) {
    return thrown instanceof ClickHouseError && sensible.has(thrown.type)
      ? reasonIn(thrown.message)
      : undefined;
  }
}

/** Why one of these is not a regular expression; undefined when all are, or the engine does not answer. */
export async function whyNoPattern(clickhouse: ClickHouse, patterns: readonly string[]) {
  if (patterns.length === 0) return undefined;
  const text = "SELECT match('', arrayJoin({patterns:Array(String)}))";
  return await refuseTrial(clickhouse, text, { patterns });
}

/** The engine's message about a query that can never run; other errors may be temporary. */
const sensible: ReadonlySet<string> = new Set(
  wordsIn(`
    ARGUMENT_OUT_OF_BOUND BAD_ARGUMENTS CANNOT_COMPILE_REGEXP ILLEGAL_COLUMN ILLEGAL_TYPE_OF_ARGUMENT
    ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER NO_COMMON_TYPE NUMBER_OF_ARGUMENTS_DOESNT_MATCH TYPE_MISMATCH TOO_DEEP_RECURSION
    ZERO_ARRAY_OR_TUPLE_INDEX
  `),
);

/** The first sentence, without the statement in it. */
function reasonIn(message: string): string {
  const [reason = ""] = message.split(
    /[:.,]? (?:In scope|In query|While processing|while executing|\(version)/i,
  );
  return reason.replace(/^Code: \d+\. DB::Exception: /, "").slice(0, limits.valueShownCharsMax);
}

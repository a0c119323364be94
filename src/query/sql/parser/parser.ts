// Reads HogQL by PostHog's parser in a child process: one text at a time, the projects in turn. The child starts with
// the first text and ends when idle: it uses 80 MB, a fifth of what a small server uses at rest.

import { unavailable } from "../../../core/fault.ts";
import { limits } from "../../../core/limits.ts";
import { type Log, toReason } from "../../../core/log.ts";
import { SizedCache } from "../../../work/maps.ts";
import { Semaphore } from "../../../work/semaphore.ts";
import { SqlProblem } from "../compile/value.ts";
import type { ExpressionNode, OrderExpr, ParserError, SelectTree } from "../tree.ts";
import { parserLimits } from "./limits.ts";
import type { TextKind } from "./parser_child.ts";
import { type Parsed, ParserProcess } from "./parser_process.ts";
import { checkTextBounds } from "./text_bounds.ts";

export interface Trees {
  select: SelectTree;
  expression: ExpressionNode;
  order: OrderExpr;
}

export type SqlParser = ReturnType<typeof openSqlParser>;

export function openSqlParser(log: Log) {
  const { treeCharsMin } = parserLimits;
  const permit = new Semaphore(1, parserLimits.textsWaitingMax, limits.workingFreeMultiple);
  const child = openParserChild(log);
  /** The latest texts and their outcomes: a text that crashes the parser does so only once. */
  const cache = new SizedCache<"", Parsed>(parserLimits.treesCharsMax);

  async function parseCached(text: string, kind: TextKind, project_id: number): Promise<Parsed> {
    const key = `${kind} ${text}`;
    const cached = cache.find(key);
    if (cached) return cached;
    const wait = { owner: project_id, msMax: parserLimits.textsWaitMsMax, busy: tooManyTexts };
    const parsed = await permit.run(wait, () => child.parse(kind, text));
    // A text that took too long in a child that was cold, or nearly full, may be read by the next one.
    if (!("failed" in parsed) || parsed.failed !== "time")
      cache.put("", key, parsed, key.length + ("json" in parsed ? parsed.json.length : 0) + treeCharsMin);
    return parsed;
  }

  return {
    /**
     * The tree of a text, which its caller may change.
     * @throws SqlProblem for what is wrong in the text; Fault unavailable when too many texts wait.
     */
    parse: async <Kind extends TextKind>(
      text: string,
      kind: Kind,
      project_id: number,
    ): Promise<Trees[Kind]> => {
      const orders = checkTextBounds(text);
      const result = await parseCached(text, kind, project_id);
      if ("failed" in result) throw new SqlProblem(failures[result.failed]);
      const tree: unknown = JSON.parse(withWholeNumbers(result.json));
      if (typeof tree === "object" && tree !== null && "error" in tree)
        throw toProblem(tree as ParserError, text);
      if (orders > 0) refuseLostOrder(orders, result.json);
      if (kind === "order") refuseTextAfter(text, tree as OrderExpr);
      return tree as never;
    },
    close: () => child.close(),
  };
}

/** The parser ignores an ORDER BY after a SELECT in brackets; a quote in a text of the tree is escaped. */
function refuseLostOrder(orders: number, json: string): void {
  if ((json.match(/"(?:order_by|within_group)":\[\{/g)?.length ?? 0) >= orders) return;
  throw new SqlProblem(
    "ORDER BY is not supported after SELECTs in brackets: write SELECT * FROM (… UNION ALL …) ORDER BY ….",
  );
}

/** The parser ignores text after an order. */
function refuseTextAfter(text: string, { end }: OrderExpr): void {
  const textAfter = [...text]
    .slice(end?.offset ?? 0)
    .join("")
    .trim();
  if (textAfter === "" || textAfter.startsWith("--")) return;
  throw new SqlProblem("An order is one expression, followed by ASC or DESC.", { start: end, end });
}

/** Whole numbers that JSON.parse would round, as texts. A text within JSON has no bare `"value":`. */
function withWholeNumbers(json: string): string {
  return json.replace(/"value":(-?\d{16,20})(?=[,}])/g, (same, digits: string) =>
    Number.isSafeInteger(Number(digits)) ? same : `"value":"${digits}","value_type":"number"`,
  );
}

const failures = {
  time: "The query takes too long to be read. Nest fewer brackets and functions, for example by WITH.",
  depth:
    "The query cannot be read: its parts nest too deeply. Use fewer OR, AND and operators in a row, or IN.",
};

/** The current child: started when it is needed, ended after parserLimits.childIdleMs without a text. */
function openParserChild(log: Log) {
  let current: ParserProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(idle);
    current?.kill();
    current = undefined;
  };
  return {
    parse: async (kind: TextKind, text: string): Promise<Parsed> => {
      clearTimeout(idle);
      try {
        if (!current?.isUsable) current = await ParserProcess.start();
        return await current.parse(kind, text);
      } catch (thrown) {
        log.warn("the HogQL parser ended", { reason: toReason(thrown) });
        end();
        throw unavailable("SQL cannot be read at this moment. Please retry.");
      } finally {
        idle = setTimeout(end, parserLimits.childIdleMs).unref();
      }
    },
    close: end,
  };
}

/** The parser's own message, as a sentence; what HogQL has instead of ClickHouse's words after a star. */
function toProblem(error: ParserError, text: string): SqlProblem {
  const short = error.message.slice(0, limits.valueShownCharsMax);
  const word = /\*\s{0,9}(except|replace)\b/i.exec(text)?.[1]?.toUpperCase();
  const instead = word === "EXCEPT" ? "write * EXCLUDE (…)" : "name the columns";
  const hint = word ? ` HogQL has no * ${word}: ${instead}.` : "";
  return new SqlProblem(
    `The query is not valid HogQL: ${short}${short.endsWith(".") ? "" : "."}${hint}`,
    error,
  );
}

const tooManyTexts = () => unavailable("Too many queries wait to be read. Please retry.");

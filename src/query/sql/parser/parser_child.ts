// The process that reads HogQL: PostHog's own parser, in WebAssembly, which a text can break or keep busy without end.
// Its owner kills it then. Requests arrive over the runtime's channel between processes; it ends with its owner.

import { setPriority } from "node:os";
import createHogQLParser from "@posthog/hogql-parser";
import { parserLimits } from "./limits.ts";

/** How a text is read. */
export type TextKind = "select" | "expression" | "order";

export interface ParserRequest {
  id: number;
  kind: TextKind;
  text: string;
}

/** `json`: the tree, or the parser's error. `broken`: the parser threw, and all its later answers are wrong. */
export interface ParserReply {
  id: number;
  json?: string;
  broken?: string;
}

/** Parsed at the start: the parser fills its cache of the grammar, without which a text takes ten times as long. */
const warmUpTexts: readonly (readonly [TextKind, string])[] = [
  [
    "select",
    `WITH a AS (SELECT event, count(DISTINCT person_id) AS c, toStartOfDay(timestamp) AS d FROM events AS e
     LEFT JOIN persons p ON p.id = e.person_id WHERE timestamp >= now() - INTERVAL 7 DAY AND event IN ('a', 'b')
     AND properties.$browser != 'c' AND NOT (x ILIKE '%y%' OR z IS NOT NULL) GROUP BY event, d HAVING c > 1)
     SELECT d, sum(c) OVER (PARTITION BY event ORDER BY d DESC ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s,
     if(c > 0 AND c < 9, round(100.0 * c / (s + 1), 2), NULL), CASE WHEN c = 1 THEN 'x' ELSE 'y' END,
     arrayMap(x -> x.1 + 1, [(1, 2)]), {variables.v}, quantile(0.9)(c) FROM a WHERE {filters}
     UNION ALL SELECT 1, 2, 3, 4, 5, 6, 7 FROM (SELECT * FROM b) ORDER BY 1 ASC, s DESC LIMIT 10 OFFSET 5`,
  ],
  ["select", "SELECT coalesce(nullIf(a(b(c(d(e(1, 'f'), 2), x -> x), [1, 2]), (1, 2)), ''), -1) FROM events"],
  ["expression", "properties.x = 'y' AND countIf(event = 'z' OR (a AND b)) / count() > 0"],
  ["order", "timestamp DESC"],
];

async function serve(): Promise<void> {
  const parser = await createHogQLParser();
  const methods = { select: "parseSelect", expression: "parseExpr", order: "parseOrderExpr" } as const;
  for (const [kind, text] of warmUpTexts) parser[methods[kind]](text);
  process.on("message", ({ id, kind, text }: ParserRequest) => {
    let reply: ParserReply;
    try {
      reply = { id, json: parser[methods[kind]](text) };
    } catch (thrown) {
      reply = { id, broken: String(thrown) };
    }
    process.send?.(reply);
  });
  // The start has the usual priority: on a busy machine it would take minutes otherwise, while queries wait.
  setPriority(parserLimits.childStepsBehind);
  process.send?.({ id: 0 } satisfies ParserReply);
}

process.on("disconnect", () => process.exit(0));
await serve();

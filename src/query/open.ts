// Opens the room: the engine of queries, the parser of SQL, and background queries.

import type { Log } from "../core/log.ts";
import { BackgroundQueries } from "./background/background_queries.ts";
import { type EngineOptions, openQueryEngine, openQueryTexts } from "./engine.ts";
import { ResultCache } from "./results/result_cache.ts";
import { openSqlParser } from "./sql/parser/parser.ts";

interface QueriesOptions extends Omit<EngineOptions, "parser" | "results" | "texts"> {
  log: Log;
}

export type OpenedQueries = ReturnType<typeof openQueries>;

export function openQueries({ log, ...options }: QueriesOptions) {
  const { sql, clock } = options;
  const parser = openSqlParser(log);
  const results = new ResultCache(clock);
  const texts = openQueryTexts(clock);
  const background = new BackgroundQueries({ sql, clock, log, results, texts });
  const close = async (): Promise<void> => {
    await background.close();
    parser.close();
  };
  const { parse } = parser;
  return { ...openQueryEngine({ ...options, parser, results, texts }), background, parse, close };
}

// Opens the room: the engine of queries, and the parser of those in SQL.

import type { Log } from "../core/log.ts";
import { type EngineOptions, openQueryEngine, type QueryEngine } from "./engine.ts";
import { openSqlParser } from "./sql/parser/parser.ts";

interface QueriesOptions extends Omit<EngineOptions, "parser"> {
  log: Log;
}

export function openQueries({ log, ...options }: QueriesOptions): QueryEngine & { close(): void } {
  const parser = openSqlParser(log);
  return { ...openQueryEngine({ ...options, parser }), close: () => parser.close() };
}

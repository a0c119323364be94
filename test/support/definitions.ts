// A book of names without a store: for tests of other things, and one that shows what it would write.

import { DefinitionBook } from "../../src/capture/definitions/definition_book.ts";
import { ShapeCache, ShapeCaches } from "../../src/capture/definitions/shape_cache.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import type { ClickHouse, NativeBody } from "../../src/storage/clickhouse/clickhouse.ts";
import { readRows } from "./native_rows.ts";

/** Knows every shape, and records nothing. */
export const noDefinitions = {
  shapes: Object.assign(new ShapeCaches(), {
    of: () => Object.assign(new ShapeCache(), { has: () => true }),
  }),
  read: () => 0,
  record: () => 0,
  recover: async () => {},
  settle: async () => {},
};

/** A book, and the names it has written: kind, type of group, name and whether a type is known, and pairs. */
export function openBook(): { book: DefinitionBook; written(): Promise<string[]>; unrecorded: number } {
  const lines = new Set<string>();
  const insertNative = async (table: string, body: NativeBody): Promise<void> => {
    if (!("bytes" in body)) throw new Error("names are written as bytes");
    for (const row of body.bytes.flatMap((bytes) => readRows(bytes))) {
      const { typed } = row as { typed?: string };
      const shown = typed === undefined ? row : { ...row, typed: typed !== "~", created_at: undefined };
      lines.add(`${table} ${JSON.stringify(shown)}`);
    }
  };
  const clickhouse = { query: async () => [], insertNative } as unknown as ClickHouse;
  const opened = {
    unrecorded: 0,
    book: new DefinitionBook({
      clickhouse,
      unrecorded: (_why, names) => void (opened.unrecorded += names),
      clock: systemClock,
      log: silentLog,
    }),
    written: async () => {
      await opened.book.settle();
      // A name whose type came later is written twice.
      const typed = (line: string) => line.replace('"typed":false', '"typed":true');
      return [...lines].filter((line) => typed(line) === line || !lines.has(typed(line))).toSorted();
    },
  };
  return opened;
}

// Files that ClickHouse writes by a table function; one statement may write several, each with its buffers.

import { exportLimits } from "../../limits.ts";
import { write } from "../../source/delivery.ts";
import type { FileRows, ObjectStore } from "./objects.ts";
import type { ExportStatement } from "../../source/store.ts";
import { insertStatement, insertTextOf, splitInsertOf } from "./write_store.ts";

export interface EngineStore extends Pick<ObjectStore, "open" | "explain" | "close" | "end"> {
  /**
   * The table function that writes a file. `{_partition_id}` in the key is the number of the file.
   * @param compression of the whole file: none, gzip or br.
   */
  file(key: string, format: string, structure: string, compression: string): ExportStatement;
  settings: Record<string, string | number>;
  /** Runs before a statement that writes these files. */
  prepare?(keys: readonly string[]): void;
}

/** The placeholder of a file's number until its key is part of a statement. */
const numberMark = "~file~";

/** The store of files whose rows ClickHouse writes. */
export function writtenByEngine(store: EngineStore): ObjectStore {
  const target = (key: string, { selection, format, compression }: FileRows): ExportStatement =>
    store.file(key, format, selection.structure, compression);
  return {
    ...store,
    writeFile: async (work, key, rows) => {
      store.prepare?.([key]);
      const statement = insertStatement(target(key, rows), rows.selection, work.mark);
      await write(work, statement, { ...store.settings, ...rows.settings });
    },
    writeParts: async (work, keyOf, rows, { files, used }) => {
      store.prepare?.(used.map(({ file }) => keyOf(file)));
      const into = target(keyOf(numberMark), rows);
      for (let from = 0; from < files; from += exportLimits.filesAtOnceMax) {
        const some = { files, from, to: Math.min(files, from + exportLimits.filesAtOnceMax) };
        const statement = splitInsertOf(into, rows.selection, some, work.mark);
        await write(work, statement, { ...store.settings, ...rows.settings });
      }
    },
    writeText: async (work, key, content) => {
      store.prepare?.([key]);
      const file = store.file(key, "LineAsString", "line String", "none");
      await write(work, insertTextOf(file, content, work.mark), store.settings);
    },
  };
}

/** The placeholder in a key that was encoded for a URL. */
export function withNumber(key: string): string {
  return key.replaceAll(numberMark, "{_partition_id}");
}

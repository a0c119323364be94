// Files that ClickHouse writes by a table function; one statement may write several, each with its buffers. Values are
// parameters.

import { exportLimits } from "../../limits.ts";
import { runInsert, type Writing } from "../../source/statements.ts";
import { type ExportStatement, tagClause, wrapStatement } from "../../source/store.ts";
import type { FileRows, ObjectStore } from "./objects.ts";

export interface EngineStore extends Pick<ObjectStore, "remove" | "open" | "explain" | "close" | "end"> {
  /**
   * The table function that writes a file. `{_partition_id}` in the key is the number of the file.
   * @param compression of the whole file: none, gzip or br.
   */
  file(key: string, format: string, structure: string, compression: string): ExportStatement;
  settings: Record<string, string | number>;
  /** Runs before a statement that writes these files. */
  prepare?(keys: readonly string[]): void;
}

/** The engine's placeholder of a file's number: no prefix has braces. */
const numberPlaceholder = "{_partition_id}";

export function writtenByEngine(store: EngineStore): ObjectStore {
  const functionFor = (key: string, { selection, format, compression }: FileRows): ExportStatement =>
    store.file(key, format, selection.structure, compression);
  /** `select`: after the function's name and before the tag. */
  const insert = async (
    work: Writing,
    target: ExportStatement,
    select: ExportStatement,
    settings: FileRows["settings"] = {},
  ): Promise<void> => {
    const text = (file: string) => `INSERT INTO FUNCTION ${file} ${select.text} ${tagClause(work.tag)}`;
    const statement = wrapStatement(target, text, select.params);
    await runInsert(work, statement, { ...store.settings, ...settings });
  };
  return {
    ...store,
    writeFile: async (work, key, rows) => {
      store.prepare?.([key]);
      await insert(work, functionFor(key, rows), rows.selection.select, rows.settings);
    },
    writeParts: async (work, keyOf, rows, { files, used }) => {
      store.prepare?.(used.map(({ file }) => keyOf(file)));
      const target = functionFor(keyOf(numberPlaceholder), rows);
      const { select, identity } = rows.selection;
      // A row's file follows from the row's identity.
      const file = `${identity} % {files:UInt64}`;
      const where = `${file} >= {from_file:UInt64} AND ${file} < {to_file:UInt64}`;
      const text = `PARTITION BY toString(${file}) SELECT * FROM (${select.text}) WHERE ${where}`;
      for (let from_file = 0; from_file < files; from_file += exportLimits.filesAtOnceMax) {
        const to_file = Math.min(files, from_file + exportLimits.filesAtOnceMax);
        const params = { ...select.params, files, from_file, to_file };
        await insert(work, target, { text, params }, rows.settings);
      }
    },
    writeText: async (work, key, content) => {
      store.prepare?.([key]);
      const target = store.file(key, "LineAsString", "line String", "none");
      await insert(work, target, { text: "SELECT {content:String} AS line", params: { content } });
    },
  };
}

/** The key in a URL, with the placeholder as it is. */
export function encodeKey(key: string): string {
  const encoded = key.split("/").map(encodeURIComponent).join("/");
  return encoded.replaceAll(encodeURIComponent(numberPlaceholder), numberPlaceholder);
}

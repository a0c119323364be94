// Rows of a result as JSON, in parts of whole rows.

import { partsWithin, WrittenJson } from "../../http/pages/json_parts.ts";
import { queryLimits } from "../limits.ts";
import { exactJson } from "./table_rows.ts";

export class WrittenRows extends WrittenJson implements Iterable<unknown> {
  /** Each row is followed by a comma. */
  readonly parts: readonly Uint8Array[];

  private constructor(parts: readonly Uint8Array[]) {
    super();
    this.parts = parts;
  }

  /** Undefined when they have more than `bytesMax`. The event loop gets turns in between. */
  static async of(rows: Iterable<unknown>, bytesMax: number): Promise<WrittenRows | undefined> {
    if (rows instanceof WrittenRows) return rows;
    const parts = await partsWithin(rowTexts(rows), bytesMax, queryLimits.sqlSliceBytes);
    return parts && new WrittenRows(parts);
  }

  /** The rows as a JSON list. */
  *jsonChunks(): Generator<string | Uint8Array, undefined> {
    yield "[";
    yield* this.parts.slice(0, -1);
    const last = this.parts.at(-1);
    if (last) yield last.subarray(0, -1);
    yield "]";
  }

  /** For JSON.stringify() of what contains it. */
  toJSON(): unknown[] {
    return [...this];
  }

  *[Symbol.iterator](): Generator<unknown, undefined> {
    for (const part of this.parts)
      yield* exactJson(`[${Buffer.from(part).toString("utf8", 0, part.length - 1)}]`) as unknown[];
  }
}

function* rowTexts(rows: Iterable<unknown>): Generator<string, undefined> {
  for (const row of rows) yield `${JSON.stringify(row)},`;
}

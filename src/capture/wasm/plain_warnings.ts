// The warnings of plain events: that they lack what their name needs.

import type { Outcomes, Warning } from "../event/outcome.ts";
import type { Row } from "../event/row.ts";
import { field, toOffset } from "../scan/event_fields.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { layout } from "./layout.ts";
import type { ColumnBatch, ScanArena } from "./scan_arena.ts";

/** Records the warnings of rows just written as columns; `first`: the slice's first entry; overwrites `row`'s uuid. */
export function recordPlainWarnings(
  fast: ScanArena,
  { bytes }: ColumnBatch,
  first: number,
  { index, warned, row: { uuid } }: { index: EventIndex; warned: Outcomes<Warning>; row: Pick<Row, "uuid"> },
): void {
  for (let i = 0; i < fast.warnedCount; i++) {
    const pair = fast.warnedAt(i);
    const at = toOffset(first + (pair & 0xffff));
    const from = layout.OUT_UUID + (pair >>> 16) * 16;
    for (let byte = 0; byte < 16; byte++) uuid[byte] = bytes[from + byte]!;
    warned.add(index.entries[at + field.ordinal]!, fast.readWarning(pair & 0xffff), index.entries, at, uuid);
  }
}

// Merges as rows of their own lane, which ends in Postgres, and blocks of them.

import { decodeText, toBytes } from "../../core/bytes.ts";
import { yieldToEventLoop } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { AnnouncedType } from "../../persons/group_type_store.ts";
import { type Merge, mergeKind } from "../../persons/merge.ts";
import { ByteColumn } from "../../storage/native/native.ts";
import type { RowAppender } from "../journal/lane.ts";
import { type LaneBlock, type LaneKind, plainLane } from "../journal/lane_kind.ts";
import { journalLimits } from "../journal/limits.ts";
import { captureLimits } from "../limits.ts";

/** A merge; or, with kind group_type, a new type of groups: `into` is its name. */
export interface MergeRow extends Merge {
  /** The arrival, in microseconds. */
  timestamp: number;
}

/** Receives merges to be applied in order: the lane of merges, or another process that has it. */
export type MergeAppender = RowAppender<MergeRow>;

/** Merges have one partition, as they end in Postgres; `merged_ids` mirrors them. */
export const mergeLane: LaneKind<MergeBlock> = {
  ...plainLane,
  name: "merges",
  // The store in which they are applied in order.
  sink: "postgres",
  table: "merged_ids",
  toPartition: () => 0,
  openBlock: () => new MergeBlock(),
  watermark: "stored",
  segmentBytesMax: captureLimits.mergeSegmentBytesMax,
  preparedBytesMax: journalLimits.preparedBytesMax,
};

/** A new type of groups; `at` in microseconds. */
export function typeRow(project_id: number, into: string, at: number): MergeRow {
  return { project_id, kind: mergeKind.group_type, from: "", into, at, created_at: at, timestamp: at };
}

/**
 * A frame's payload holds for each row: u32 project, u8 kind, i64 at, i64 created_at, and two texts as u16 length and
 * UTF-8.
 */
export class MergeBlock implements LaneBlock<MergeRow> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #rows = new ByteColumn();

  get capacity(): number {
    return this.#rows.capacity;
  }

  append({ project_id, kind, from, into, at, created_at }: MergeRow): number {
    const before = this.#rows.length;
    if (this.rows === 0) this.oldest = created_at;
    this.#rows.u32(project_id);
    this.#rows.u8(kind);
    this.#rows.i64(at);
    this.#rows.i64(created_at);
    for (const text of [from, into]) {
      const bytes = toBytes(text);
      this.#rows.u16(bytes.length);
      this.#rows.raw(bytes);
    }
    this.rows++;
    return this.#rows.length - before;
  }

  encode(out: ByteColumn): void {
    out.raw(this.#rows.bytes, 0, this.#rows.length);
  }

  clear(): void {
    this.rows = 0;
    this.#rows.length = 0;
  }
}

/**
 * Reads payloads of frames: yields merges in order, at most `atOnce` at a time, and adds types to
 * `types`. Yields to the event loop now and then.
 */
export async function* readMergeRows(
  payloads: Iterable<Uint8Array>,
  types: AnnouncedType[],
  atOnce: number,
): AsyncGenerator<Merge[], void, undefined> {
  let merges: Merge[] = [];
  let rows = 0;
  for (const payload of payloads) {
    for (const row of readMerges(payload)) {
      if (row.kind === mergeKind.group_type) types.push({ project_id: row.project_id, name: row.into });
      else merges.push(row);
      if (++rows % limits.mergesAtOnceMax === 0) await yieldToEventLoop();
      if (merges.length < atOnce) continue;
      yield merges;
      merges = [];
    }
  }
  if (merges.length > 0) yield merges;
}

function* readMerges(payload: Uint8Array): Generator<Merge, void, undefined> {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  let offset = 0;
  const text = (): string => {
    const from = offset + 2;
    offset = from + view.getUint16(offset, true);
    return decodeText(payload, from, offset);
  };
  while (offset < payload.length) {
    const project_id = view.getUint32(offset, true);
    const kind = view.getUint8(offset + 4);
    const at = Number(view.getBigInt64(offset + 5, true));
    const created_at = Number(view.getBigInt64(offset + 13, true));
    offset += 21;
    const from = text();
    const into = text();
    yield { project_id, kind, from, into, at, created_at };
  }
}

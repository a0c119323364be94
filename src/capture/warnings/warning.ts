// Ingestion warnings as rows, and a block of them as columns for the journal.

import { ByteColumn, writeBlockHead, writeColumnHead } from "../../storage/native/native.ts";
import type { LaneBlock } from "../journal/lane_block.ts";

export interface WarningRow {
  project_id: number;
  /** A Reason, a Warning, or a type of spike. */
  type: string;
  /** JSON text of an object. */
  details: string;
  /** The event's name as the client sent it; empty without one. */
  event: string;
  distinct_id: string;
  /** Number of events that the row stands for. */
  count: number;
  /** When the server received it, in microseconds since 1970. */
  timestamp: number;
}

const microsType = "DateTime64(6, 'UTC')";

export class WarningBlock implements LaneBlock<WarningRow> {
  readonly changes = 0;
  partition = 0;
  rows = 0;
  oldest = 0;
  readonly #project = new ByteColumn();
  readonly #type = new ByteColumn();
  readonly #details = new ByteColumn();
  readonly #event = new ByteColumn();
  readonly #distinctId = new ByteColumn();
  readonly #count = new ByteColumn();
  readonly #timestamp = new ByteColumn();

  append(row: WarningRow): number {
    const before = this.#bytes();
    if (this.rows === 0) this.oldest = row.timestamp;
    this.#project.u32(row.project_id);
    this.#type.text(row.type);
    this.#details.text(row.details);
    this.#event.text(row.event);
    this.#distinctId.text(row.distinct_id);
    this.#count.u64(BigInt(row.count));
    this.#timestamp.i64(row.timestamp);
    this.rows++;
    return this.#bytes() - before;
  }

  encode(out: ByteColumn, batch: bigint, firstRow: number): void {
    writeBlockHead(out, 9, this.rows);
    const plain = (name: string, type: string, column: ByteColumn) => {
      writeColumnHead(out, name, type);
      out.raw(column.bytes, 0, column.length);
    };
    plain("project_id", "UInt32", this.#project);
    plain("type", "String", this.#type);
    plain("details", "String", this.#details);
    plain("event", "String", this.#event);
    plain("distinct_id", "String", this.#distinctId);
    plain("count", "UInt64", this.#count);
    plain("timestamp", microsType, this.#timestamp);
    writeColumnHead(out, "_batch", "UInt64");
    out.u64Repeated(batch, this.rows);
    writeColumnHead(out, "_row", "UInt32");
    for (let row = 0; row < this.rows; row++) out.u32(firstRow + row);
  }

  clear(): void {
    this.rows = 0;
    for (const column of this.#columns()) column.length = 0;
  }

  #bytes(): number {
    return this.#columns().reduce((bytes, column) => bytes + column.length, 0);
  }

  #columns(): ByteColumn[] {
    const texts = [this.#type, this.#details, this.#event, this.#distinctId];
    return [...texts, this.#project, this.#count, this.#timestamp];
  }
}

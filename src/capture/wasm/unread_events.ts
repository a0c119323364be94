// Events that the fold of sessions leaves unread, as columns: the engine reads them.

import { ByteColumn, Dictionary, writeBlockHead, writeColumnHead } from "../../storage/native/native.ts";

const microsType = "DateTime64(6, 'UTC')";

/** Where the values of an event lie; of texts also how long they are. */
interface EventOffsets {
  uuid: number;
  project: number;
  event: Uint8Array;
  timestamp: number;
  created: number;
  id: [from: number, length: number];
  properties: [from: number, length: number];
}

/** Columns of events as they were stored. */
export class UnreadEvents {
  #rows = 0;
  readonly #event = new Dictionary();
  readonly #fixed = {
    uuid: ["UUID", new ByteColumn()],
    project_id: ["UInt32", new ByteColumn()],
    distinct_id: ["String", new ByteColumn()],
    properties: ["String", new ByteColumn()],
    timestamp: [microsType, new ByteColumn()],
    created_at: [microsType, new ByteColumn()],
  } as const;

  /** About how many bytes they have. */
  get bytes(): number {
    return this.#fixed.properties[1].length + this.#rows * 64;
  }

  append(
    bytes: Uint8Array,
    { uuid, project, event, timestamp, created, id, properties }: EventOffsets,
  ): void {
    const fixed = this.#fixed;
    fixed.uuid[1].raw(bytes, uuid, uuid + 16);
    fixed.project_id[1].raw(bytes, project, project + 4);
    this.#event.append(event, 0, event.length);
    fixed.distinct_id[1].string(bytes, id[0], id[0] + id[1]);
    fixed.properties[1].string(bytes, properties[0], properties[0] + properties[1]);
    fixed.timestamp[1].raw(bytes, timestamp, timestamp + 8);
    fixed.created_at[1].raw(bytes, created, created + 8);
    this.#rows++;
  }

  /** All of them as a Native block, which empties the columns; undefined without any. */
  drain(): Uint8Array | undefined {
    const rows = this.#rows;
    if (rows === 0) return undefined;
    const fixed = Object.entries(this.#fixed);
    const out = new ByteColumn(this.bytes * 2);
    writeBlockHead(out, fixed.length + 1, rows);
    writeColumnHead(out, "event", "LowCardinality(String)");
    this.#event.encode(out, rows);
    this.#event.clear();
    for (const [name, [type, column]] of fixed) {
      writeColumnHead(out, name, type);
      out.raw(column.bytes, 0, column.length);
      column.length = 0;
    }
    this.#rows = 0;
    return out.filled();
  }
}

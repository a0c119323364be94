// Events that the fold of sessions leaves unread, as columns: the engine reads them.

import { decodeText } from "../../core/bytes.ts";
import {
  ByteColumn,
  Dictionary,
  microsType,
  writeBlockHead,
  writeColumnHead,
} from "../../storage/native/native.ts";

/** Ranges of an event's values; of texts also how long they are. */
export interface ListedEvent {
  uuid: number;
  project: number;
  event: Uint8Array;
  timestamp: number;
  created: number;
  id: [from: number, length: number];
  /** The text of its properties; for a stray, of its session's id. */
  text: [from: number, length: number];
}

/** An event that lies outside of its session, as a warning names it. */
export interface StrayEvent {
  project_id: number;
  event: string;
  distinct_id: string;
  session_id: string;
  /** Its own time, and its arrival, in microseconds. */
  event_timestamp: number;
  timestamp: number;
}

export function readStray(
  bytes: Uint8Array,
  { project, event, timestamp, created, id, text }: ListedEvent,
): StrayEvent {
  const view = new DataView(bytes.buffer);
  return {
    project_id: view.getUint32(project, true),
    event: decodeText(event, 0, event.length),
    distinct_id: decodeText(bytes, id[0], id[0] + id[1]),
    session_id: decodeText(bytes, text[0], text[0] + text[1]),
    event_timestamp: Number(view.getBigInt64(timestamp, true)),
    timestamp: Number(view.getBigInt64(created, true)),
  };
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

  append(bytes: Uint8Array, { uuid, project, event, timestamp, created, id, text }: ListedEvent): void {
    const fixed = this.#fixed;
    fixed.uuid[1].raw(bytes, uuid, uuid + 16);
    fixed.project_id[1].raw(bytes, project, project + 4);
    this.#event.append(event, 0, event.length);
    fixed.distinct_id[1].string(bytes, id[0], id[0] + id[1]);
    fixed.properties[1].string(bytes, text[0], text[0] + text[1]);
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

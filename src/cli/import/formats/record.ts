// The types of an import: a record as it is in a file, and what becomes of it.

import { type RawFields, writeRawFields } from "../reading/raw_fields.ts";

/** One record of a file. Readers reuse the object: its fields are valid until the next record is asked for. */
export interface FileRecord {
  /** The record's bytes are source[from, to). */
  source: Buffer;
  from: number;
  to: number;
  /** The line it starts on, from 1. */
  line: number;
  /** Why it cannot be read; its bytes have no meaning then. */
  flaw: string | undefined;
}

/** Cuts a file's bytes into records. A record longer than the limit is yielded with a flaw, without its bytes. */
export interface RecordReader {
  read(bytes: Buffer): Iterable<FileRecord>;
  /** To be called after the last bytes. */
  end(): Iterable<FileRecord>;
}

export type RecordOutcome =
  /** Sent as it is in the file, with `uuid` put in front where it has none. */
  | { is: "verbatim"; uuid: string | undefined }
  /** Sent as this text of a /batch item. */
  | { is: "rewritten"; text: string }
  /** Not an event that can be imported; it is reported to the user. */
  | { is: "rejected"; reason: string }
  /** Left out on purpose, and counted. */
  | { is: "skipped"; reason: string };

/** A record that is one JSON object, as a mapping receives it. */
export interface JsonRecord {
  text: string;
  /** `text`, parsed. */
  value: Record<string, unknown>;
  /** A uuid derived from the record's bytes; see UuidSource.ofRecord. */
  ownUuid(): string;
  /** A uuid derived from \`text\`, for sources with ids of their own. */
  uuidOf(text: string): string;
}

/** An event read from another system's record. */
export interface TranslatedEvent {
  uuid: string;
  event: string;
  distinct_id: string | undefined;
  /** RFC 3339. */
  timestamp: string;
  properties: RawFields;
}

export function rejected(reason: string): RecordOutcome {
  return { is: "rejected", reason };
}

/** An event as a /batch item. One without a distinct id is sent too: the server counts it as ignored, with a reason. */
export function batchItemOf(translated: TranslatedEvent): RecordOutcome {
  const { uuid, event, distinct_id, timestamp, properties } = translated;
  const head = `{"uuid":"${uuid}","event":${JSON.stringify(event)}`;
  const id = distinct_id === undefined ? "" : `,"distinct_id":${JSON.stringify(distinct_id)}`;
  const rest = `,"timestamp":${JSON.stringify(timestamp)},"properties":${writeRawFields(properties)}}`;
  return { is: "rewritten", text: head + id + rest };
}

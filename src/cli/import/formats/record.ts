// What flows through an import: records as they lie in a file, and what becomes of them. Holds no behaviour.

import type { Members } from "../reading/members.ts";

/**
 * One record of a file. Readers hand out the same object again and again: use it before asking for the
 * next.
 */
export interface FileRecord {
  /** The record's bytes are source[from, to). Valid until the next record is asked for. */
  source: Buffer;
  from: number;
  to: number;
  /** The line it starts on, from 1. */
  line: number;
  /** Why it cannot be read at all; its bytes mean nothing then. */
  flaw: string | undefined;
}

/** Cuts a file's bytes into records. Bounded: a record longer than the limit is handed out as a flaw. */
export interface RecordReader {
  read(bytes: Buffer): Iterable<FileRecord>;
  /** After the last bytes. */
  end(): Iterable<FileRecord>;
}

export type RecordFate =
  /** Goes as it lies in the file, with a uuid put in front where it has none. */
  | { is: "kept"; uuid: string | undefined }
  /** Goes as this text of a batch item. */
  | { is: "made"; text: string }
  /** Is no event that can be imported, and the person is told. */
  | { is: "rejected"; reason: string }
  /** Is left out on purpose, and counted. */
  | { is: "skipped"; reason: string };

/** A record as a mapping sees it: one JSON object. */
export interface Mappable {
  /** JSON text of an object. */
  text: string;
  /** The same, parsed. */
  value: Record<string, unknown>;
  /** A uuid that depends on the record's own bytes; see Identity. */
  ownUuid(): string;
  /** A uuid that depends on what is given, for sources with ids of their own. */
  uuidOf(text: string): string;
}

/** An event a mapping has read out of another system's record. */
export interface Translated {
  uuid: string;
  event: string;
  distinct_id: string | undefined;
  /** RFC 3339. */
  timestamp: string;
  properties: Members;
}

export function rejected(reason: string): RecordFate {
  return { is: "rejected", reason };
}

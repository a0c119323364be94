// The outcome of a record.

import { type RawFields, writeRawFields } from "../reading/raw_fields.ts";

export type RecordOutcome =
  /** Sent as it is in the file, with `uuid` put in front where it has none. */
  | { is: "verbatim"; uuid: string | undefined }
  /** Sent as this text of a /batch item, after another item that the record also says, if any. */
  | { is: "rewritten"; text: string; before?: string }
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
  toUuid(text: string): string;
  /** The first users of the devices that this import has met: "" before there is one, null once they are joined. */
  devices: Map<string, string | null>;
}

/** An event read from another system's record. */
export interface TranslatedEvent<Properties extends RawFields | string = RawFields> {
  uuid: string;
  event: string;
  distinct_id: string | undefined;
  /** RFC 3339. */
  timestamp: string;
  /** Fields, or JSON text. */
  properties: Properties;
}

/** A uuid from the event's id in the source, and what the id belongs to; without one, from the record. */
export function uuidFrom(record: JsonRecord, of: readonly string[], id: string | undefined): string {
  return id === undefined ? record.ownUuid() : record.toUuid([...of, id].join("\n"));
}

export function rejected(reason: string): RecordOutcome {
  return { is: "rejected", reason };
}

/** An event as a /batch item. One without a distinct id is sent too: the server counts it as ignored, with a reason. */
export function toBatchItem(translated: TranslatedEvent<RawFields | string>): RecordOutcome {
  return { is: "rewritten", text: batchText(translated) };
}

export function batchText(translated: TranslatedEvent<RawFields | string>): string {
  const { uuid, event, distinct_id, timestamp, properties: fields } = translated;
  const properties = typeof fields === "string" ? fields : writeRawFields(fields);
  const head = `{"uuid":"${uuid}","event":${JSON.stringify(event)}`;
  const id = distinct_id === undefined ? "" : `,"distinct_id":${JSON.stringify(distinct_id)}`;
  const rest = `,"timestamp":${JSON.stringify(timestamp)},"properties":${properties}}`;
  return head + id + rest;
}

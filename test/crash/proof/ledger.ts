// What senders know, in files of their own: the events that were sent, and those that were acknowledged. Records are
// only appended, and a record of what was sent is written before the request.
//
//   record = 16 bytes of uuid  u64 XXH64 of the payload, little-endian

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

export interface SentEvent {
  /** 16 bytes. */
  uuid: Uint8Array;
  event: string;
  distinct_id: string;
  /** The JSON text, as it is sent. */
  properties: string;
  /** Milliseconds since 1970. */
  timestamp: number;
}

export const recordBytes = 24;

export class ProofLedger {
  readonly #sent: number;
  readonly #acknowledged: number;
  readonly #folder: string;
  acknowledged = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#sent = openSync(`${folder}/sent`, "a");
    this.#acknowledged = openSync(`${folder}/acknowledged`, "a");
  }

  /** Notes events that are about to be sent; returns their records for acknowledge(). */
  send(events: readonly SentEvent[]): Buffer {
    const records = Buffer.alloc(events.length * recordBytes);
    for (const [i, event] of events.entries()) {
      records.set(event.uuid, i * recordBytes);
      records.writeBigUInt64LE(payloadHash(event), i * recordBytes + 16);
    }
    writeSync(this.#sent, records);
    return records;
  }

  /** Notes that all of these were answered with 200. */
  acknowledge(records: Buffer): void {
    writeSync(this.#acknowledged, records);
    this.acknowledged += records.length / recordBytes;
  }

  read(): { sent: Buffer; acknowledged: Buffer } {
    const { length } = readFileSync(`${this.#folder}/acknowledged`);
    if (length !== this.acknowledged * recordBytes) throw new Error("the ledger is shorter than was written");
    return {
      sent: readFileSync(`${this.#folder}/sent`),
      acknowledged: readFileSync(`${this.#folder}/acknowledged`),
    };
  }

  close(): void {
    closeSync(this.#sent);
    closeSync(this.#acknowledged);
  }
}

/** What `payloadHashSql` computes of a stored row. */
function payloadHash({ event, distinct_id, properties, timestamp }: SentEvent): bigint {
  return Bun.hash.xxHash64(`${event}\0${distinct_id}\0${properties}\0${timestamp}`);
}

export const payloadHashSql =
  "xxHash64(concat(event, '\\0', distinct_id, '\\0', properties, '\\0', toString(toUnixTimestamp64Milli(timestamp))))";

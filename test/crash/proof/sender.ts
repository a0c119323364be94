// Senders: events whose content tells which they are, sent in batches or one by one until the server is gone.

import { randomFillSync } from "node:crypto";
import { projectKey } from "../../support/server.ts";
import type { ProofLedger, SentEvent } from "./ledger.ts";

export interface SenderOptions {
  /** Events of one request; 1 sends requests of the kind that SDKs send most. */
  batch: number;
  historical?: boolean;
  /** Ends the sending when it says so. */
  isOver?: () => boolean;
  /** Waits so long between two requests. */
  pauseMs?: number;
  /** A request that gets no answer within so many ms is given up. */
  timeoutMs?: number;
}

let sequence = 0;
const filler = "x".repeat(160);
const yearMs = 365 * 86_400_000;

/** Events of five years and 997 persons, four to a session. No two have the same time. */
export function makeEvents(count: number): SentEvent[] {
  const random = randomFillSync(new Uint8Array(count * 16));
  return Array.from({ length: count }, (_, i) => {
    const n = sequence++;
    const uuid = random.subarray(i * 16, i * 16 + 16);
    uuid[6] = (uuid[6]! & 0x0f) | 0x40;
    uuid[8] = (uuid[8]! & 0x3f) | 0x80;
    return {
      uuid,
      event: `e${n % 7}`,
      distinct_id: `p${n % 997}`,
      properties: `{"n":${n},"$session_id":"s${n >> 2}","$set":{"last":${n}},"filler":"${filler}"}`,
      timestamp: 1_577_836_800_000 + Math.floor(n / 5) + (n % 5) * yearMs,
    };
  });
}

export function bodyOf(events: readonly SentEvent[], historical = false): string {
  const items = events.map(({ uuid, event, distinct_id, properties, timestamp }) => {
    const id = uuidText(uuid);
    const time = new Date(timestamp).toISOString();
    return `{"uuid":"${id}","event":"${event}","distinct_id":"${distinct_id}","timestamp":"${time}","properties":${properties}}`;
  });
  const first = historical ? '"historical_migration":true,' : "";
  return `{"api_key":"${projectKey}",${first}"batch":[${items.join(",")}]}`;
}

function uuidText(uuid: Uint8Array): string {
  return Buffer.from(uuid)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Sends one request. Whether it was acknowledged; undefined when there was no answer. */
export async function sendOnce(
  url: string,
  ledger: ProofLedger,
  { batch, historical = false, timeoutMs = 60_000 }: SenderOptions,
): Promise<boolean | undefined> {
  const events = makeEvents(batch);
  const records = ledger.send(events);
  try {
    const reply = await fetch(`${url}/batch/`, {
      method: "POST",
      body: bodyOf(events, historical),
      headers: { "content-type": "application/json" },
      signal: AbortSignal.timeout(timeoutMs),
    });
    await reply.arrayBuffer();
    if (reply.status === 200) ledger.acknowledge(records);
    return reply.status === 200;
  } catch {
    return undefined;
  }
}

/** Sends until the server is gone, or it is over. */
export async function sendOn(url: string, ledger: ProofLedger, options: SenderOptions): Promise<void> {
  while (!options.isOver?.()) {
    const isAcknowledged = await sendOnce(url, ledger, options);
    if (isAcknowledged === undefined) return;
    // Refused events are not sent again: each uuid travels once.
    const pauseMs = isAcknowledged ? (options.pauseMs ?? 0) : 5;
    if (pauseMs > 0) await Bun.sleep(pauseMs);
  }
}

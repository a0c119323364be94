// One HTTP request of an export to an address of a user.

import type { Addresses } from "../../access/address.ts";
import { type ForeignAnswer, postTo } from "../../access/post.ts";
import { reasonOf } from "../../core/log.ts";
import { ExportError } from "../failure.ts";
import { exportLimits } from "../limits.ts";

interface Posting {
  addresses: Addresses;
  abort: AbortSignal;
  /** POST by default. */
  method?: "POST" | "PUT";
  /** The time limit in ms; exportLimits.postMsMax by default. */
  timeoutMs?: number;
}

/** @throws ExportError: final for a private address, else retryable. */
export async function post(
  url: URL,
  body: Uint8Array,
  headers: Record<string, string>,
  { addresses, abort, method = "POST", timeoutMs: msMax = exportLimits.postMsMax }: Posting,
): Promise<ForeignAnswer> {
  const refusal = await addresses.resolvedRefusalOf(url.hostname);
  if (refusal !== undefined) throw new ExportError(refusal, true);
  try {
    const address = await addresses.connectable(url.hostname);
    return await postTo(url, address, body, { method, headers, msMax, abort });
  } catch (thrown) {
    throw new ExportError(`${url.host} could not be reached: ${reasonOf(thrown)}`, false);
  }
}

/** Retry-After, seconds or a date, in ms from `now`; undefined without one that is to come. */
export function retryAfterMs({ header }: ForeignAnswer, now: number): number | undefined {
  const value = header("retry-after") ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - now;
  return ms > 0 ? ms : undefined;
}

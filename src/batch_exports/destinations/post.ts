// HTTP requests of an export to an address of a user.

import type { Addresses } from "../../access/address.ts";
import { type ForeignAnswer, isPassing, postTo } from "../../access/post.ts";
import { type Clock, sleep } from "../../core/clock.ts";
import { toReason } from "../../core/log.ts";
import { ExportError } from "../failure.ts";
import { exportLimits } from "../limits.ts";
import { checkHost } from "../source/statements.ts";

interface Posting {
  addresses: Addresses;
  abort: AbortSignal;
  method?: "POST" | "PUT" | "DELETE";
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
  await checkHost(addresses, url.hostname);
  try {
    const address = await addresses.connectable(url.hostname);
    return await postTo(url, address, body, { method, headers, msMax, abort });
  } catch (thrown) {
    throw new ExportError(`${url.host} could not be reached: ${toReason(thrown)}`, false);
  }
}

/**
 * Sends a request until it is accepted or refused permanently, at most exportLimits.requestAttemptsMax times.
 * @param headers those of a try. @param refusal the error for an answer. @throws ExportError
 */
export async function postRepeatedly(
  url: URL,
  body: Uint8Array,
  headers: () => Record<string, string>,
  posting: Posting & { clock: Clock },
  refusal: (url: URL, reply: ForeignAnswer, final: boolean) => ExportError,
): Promise<void> {
  const { abort, clock, timeoutMs = exportLimits.postMsMax } = posting;
  for (let tried = 1; ; tried++) {
    abort.throwIfAborted();
    const isLast = tried >= exportLimits.requestAttemptsMax;
    const reply = await post(url, body, headers(), posting).catch((thrown: unknown) => {
      if (isLast || (thrown instanceof ExportError && thrown.final)) throw thrown;
      return undefined;
    });
    if (reply && reply.status >= 200 && reply.status < 300) return;
    if (reply && (isLast || !isPassing(reply))) throw refusal(url, reply, !isPassing(reply));
    const pauseMs = (reply && retryAfterMs(reply, clock.now())) ?? exportLimits.retryMsMin * tried;
    await sleep(Math.min(timeoutMs, pauseMs), abort);
  }
}

/** Retry-After, seconds or a date, in ms from `now`; undefined without one that is to come. */
export function retryAfterMs({ header }: ForeignAnswer, now: number): number | undefined {
  const value = header("retry-after") ?? "";
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const ms = Date.parse(value) - now;
  return ms > 0 ? ms : undefined;
}

// One HTTP request to an address of a user: connected to the address that was checked, without redirects.

import { request as plain } from "node:http";
import { request as secure } from "node:https";
import type { LookupFunction } from "node:net";
import type { Addresses } from "../../access/address.ts";
import { destinationLimits } from "./limits.ts";
import { reasonOf } from "../../core/log.ts";
import { ExportError } from "./failure.ts";

export interface Posted {
  status: number;
  /** Retry-After, in ms; undefined without it. */
  retryAfterMs: number | undefined;
  /** The beginning of the answer. */
  text: string;
  /** A header of the answer. */
  header: (name: string) => string | undefined;
}

export interface Posting {
  addresses: Addresses;
  abort: AbortSignal;
  /** POST by default. */
  method?: "POST" | "PUT";
  /** The time limit in ms; destinationLimits.exportPostMsMax by default. */
  timeoutMs?: number;
}

/**
 * Sends a body and reads the beginning of the answer.
 * @throws ExportError: final for a private address, else retryable.
 */
export async function post(
  url: URL,
  body: Uint8Array,
  headers: Record<string, string>,
  { addresses, abort, method = "POST", timeoutMs = destinationLimits.exportPostMsMax }: Posting,
): Promise<Posted> {
  const refusal = addresses.refusalOf(url.hostname) ?? (await addresses.resolvedRefusalOf(url.hostname));
  if (refusal !== undefined) throw new ExportError(refusal, true);
  try {
    const address = await addresses.connectable(url.hostname);
    const signal = AbortSignal.any([abort, AbortSignal.timeout(timeoutMs)]);
    return await send(url, address, body, { method, headers, signal });
  } catch (thrown) {
    throw new ExportError(`${url.host} could not be reached: ${reasonOf(thrown)}`, false);
  }
}

async function send(
  url: URL,
  address: string,
  body: Uint8Array,
  { method, headers, signal }: { method: string; headers: Record<string, string>; signal: AbortSignal },
): Promise<Posted> {
  const { promise, resolve, reject } = Promise.withResolvers<Posted>();
  const family = address.includes(":") ? 6 : 4;
  const lookup: LookupFunction = (_host, { all }, found) => {
    if (all) found(null, [{ address, family }]);
    else found(null, address, family);
  };
  const request = url.protocol === "https:" ? secure : plain;
  const length = { "content-length": String(body.length) };
  const asking = request(url, { method, headers: { ...headers, ...length }, lookup, signal }, (reply) => {
    let text = "";
    reply.setEncoding("utf8");
    reply.on("data", (chunk: string) => {
      if (text.length < answerCharsMax) text += chunk.slice(0, answerCharsMax - text.length);
    });
    reply.on("error", reject);
    reply.on("end", () => {
      const seconds = Number(reply.headers["retry-after"]);
      const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
      const header = (name: string): string | undefined => {
        const value = reply.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      resolve({ status: reply.statusCode ?? 0, retryAfterMs, text, header });
    });
  });
  asking.on("error", reject);
  asking.end(body);
  return await promise;
}

/** Enough to show an error. */
const answerCharsMax = 300;

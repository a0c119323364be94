// The person id of a distinct id, and the distinct ids that are placeholders.

import { bytesOf } from "../core/bytes.ts";

const namespace = Buffer.from("5b1f0c1e7d0e4a539a3c6f2f5d0e8b77", "hex");

/**
 * The person id of a distinct id that was not merged: UUIDv5 of "<project>:<distinct id>", as computed in ClickHouse.
 */
export function ownPersonId(project_id: number, distinct_id: string): string {
  const hash = new Bun.CryptoHasher("sha1").update(namespace).update(bytesOf(`${project_id}:${distinct_id}`));
  const bytes = hash.digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Sent by posthog-js as the distinct id of every visitor without a cookie. The server computes an id for each. */
export const cookielessSentinel = "$posthog_cookieless";

const placeholders = "anonymous guest distinctid distinct_id id not_authenticated email undefined true false";
const exactPlaceholders = [
  "[object Object]",
  cookielessSentinel,
  ..."NaN None none null 0 undefined".split(" "),
];

const illegal = new Set(exactPlaceholders.flatMap(quotedWays));
const illegalInAnyCase = new Set(placeholders.split(" ").flatMap(quotedWays));

function quotedWays(text: string): string[] {
  return [text, `'${text}'`, `"${text}"`];
}

/** Placeholders that clients send by mistake: merging them would join all their users. */
export function isIllegalId(distinct_id: string): boolean {
  const trimmed = distinct_id.trim();
  return trimmed === "" || illegal.has(trimmed) || illegalInAnyCase.has(trimmed.toLowerCase());
}

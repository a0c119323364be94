// The person id of a distinct id, and the distinct ids that are placeholders.

import { toBytes } from "../core/bytes.ts";
import { toUuid } from "../core/id.ts";

const namespace = Buffer.from("5b1f0c1e7d0e4a539a3c6f2f5d0e8b77", "hex");

/**
 * The person id of a distinct id that was not merged: UUIDv5 of "<project>:<distinct id>", as computed in ClickHouse.
 */
export function ownPersonId(project_id: number, distinct_id: string): string {
  const hash = new Bun.CryptoHasher("sha1").update(namespace).update(toBytes(`${project_id}:${distinct_id}`));
  return toUuid(hash.digest(), 5);
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

// The ids of a cookieless visitor for a day: a keyed hash of what every request shows. Without the day's salt nobody
// can compute them, or find out whose they are. The only file that knows tldts, which has the list of public suffixes.

import { getDomain } from "tldts";
import { toUuid } from "../../core/id.ts";
import type { Day } from "./day.ts";

export type Visitor = ReturnType<typeof hashVisitor>;

/** The beginning of every distinct id made here. */
export const distinctIdPrefix = "cookieless_";
const deviceIdPrefix = "cookielessd_";

/**
 * The ids of a visitor: a hash, keyed with the day's salt, of what all its events on a day share. The page adds `extra`
 * to distinguish visitors.
 */
export function hashVisitor(
  salt: Uint8Array,
  day: Day,
  traits: Record<"address" | "site" | "user_agent" | "extra", string> & { project_id: number },
) {
  const { project_id, address, site, user_agent, extra } = traits;
  const text = JSON.stringify([project_id, address, site, user_agent, extra]);
  const hash = new Bun.CryptoHasher("sha256", salt).update(text).digest().subarray(0, hashBytes);
  const visitorHash = hash.toString("base64").slice(0, shownChars);
  return {
    distinct_id: `${distinctIdPrefix}${visitorHash}`,
    device_id: `${deviceIdPrefix}${visitorHash}`,
    /** A UUIDv7 of the day's beginning: there is one session a day. */
    session_id: makeSessionId(day.from, hash),
  };
}

/** 128 bits: no two visitors share an id by chance. */
const hashBytes = 16;
/** Sixteen bytes in base64, without its two "=". */
const shownChars = 22;

/** A UUIDv7 with this time, and the hash instead of random bits. */
function makeSessionId(millis: number, hash: Uint8Array): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(millis, 0, 6);
  bytes.set(hash.subarray(0, 10), 6);
  return toUuid(bytes, 7);
}

/** A DNS name has at most 253 characters, and a port six more. */
const hostCharsMax = 260;

/**
 * The registrable domain of a host, with its port: www.example.co.uk and shop.example.co.uk are one site. A host
 * without such a domain (an address, a local name) as it is.
 * `host` is what browsers call location.host. Undefined when it is empty or too long.
 */
export function toSite(host: string): string | undefined {
  const trimmed = host.trim().toLowerCase();
  if (trimmed === "" || trimmed.length > hostCharsMax) return undefined;
  const url = URL.canParse(`http://${trimmed}`) ? new URL(`http://${trimmed}`) : undefined;
  if (!url) return trimmed;
  const domain = getDomain(url.hostname) ?? url.hostname;
  return url.port ? `${domain}:${url.port}` : domain;
}

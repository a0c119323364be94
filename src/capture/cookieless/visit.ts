// Cookieless events: how they are recognized, why one is ignored, and what it is stored as.

import { unavailable } from "../../core/fault.ts";
import { cookielessSentinel } from "../../persons/identity.ts";
import {
  type EntryOffset,
  field,
  grade,
  gradeIn,
  type Indexed,
  toOffset,
  trait,
} from "../fields/event_fields.ts";
import { sameName } from "../fields/event_rules.ts";
import type { Reason } from "../fields/outcome.ts";
import { emptyRange, rangeText, readString } from "../fields/raw_value.ts";
import type { Row } from "../fields/row.ts";
import { captureLimits } from "../limits.ts";
import type { EventIndex } from "../scan/event_index.ts";
import { isTaken, mayBeTaken, type SaltsByDay, type Zones } from "./day.ts";
import { readVisitorFacts, scrub } from "./scrub.ts";
import { distinctIdPrefix, hashVisitor, toSite } from "./visitor.ts";

/** Facts that all cookieless events of a request share. */
export interface CookielessContext {
  /** Whether the project accepts them. */
  enabled: boolean;
  /** The project's time zone, for events that name none. */
  timezone: string;
  salts: SaltsByDay;
  zones: Zones;
  /** The client's address; undefined when unknown. */
  address: (() => string | undefined) | undefined;
}

/** Whether the event of entry `at`, whose distinct id is in `row`, is cookieless. */
export function isCookieless({ entries }: Indexed, at: EntryOffset, { distinct_id }: Row): boolean {
  return (
    gradeIn(entries[at + field.traits]!, trait.$cookieless_mode) === grade.sound ||
    sameName(distinct_id, cookielessSentinel)
  );
}

/**
 * The event of entry `at` as it is stored: without user agent and address, with its visitor's id of the day. `row` has
 * its name, id and properties; the event's time and its request's arrival are in microseconds since 1970.
 * @returns its JSON text, or the reason why it is ignored.
 */
export function readCookieless(
  { bytes, entries }: Indexed,
  at: EntryOffset,
  row: Row,
  context: CookielessContext | undefined,
  {
    timestamp,
    received,
    historical_migration,
  }: { timestamp: number; received: number; historical_migration: boolean },
): Uint8Array | Reason {
  const item = entries[at + field.item]!;
  const isSentinel = sameName(row.distinct_id, cookielessSentinel);
  // An event of an import: its id was made elsewhere, with a salt that is gone.
  const isDone =
    !isSentinel && (historical_migration || rangeText(row.distinct_id).startsWith(distinctIdPrefix));
  if (isDone) return scrub(bytes, item, undefined);
  // Cookieless ids are not merged, since they last a day.
  if (sameName(row.event, "$create_alias") || sameName(row.event, "$merge_dangerously"))
    return "cookieless_unsupported_event";
  if (sameName(row.event, "$identify")) return "cookieless_stateless_no_identify";
  if (!context?.enabled) return "cookieless_team_disabled";
  const facts = readVisitorFacts(row.properties.source, row.properties.from);
  const { $ip, $raw_user_agent, $cookieless_extra = "", $host, $timezone } = facts;
  if (!$raw_user_agent?.trim()) return "cookieless_missing_user_agent";
  const address = $ip?.trim() || context.address?.();
  if (!address) return "cookieless_missing_ip";
  const site = toSite($host ?? "");
  if (site === undefined) return "cookieless_missing_host";
  const [millis, now] = [timestamp / 1000, received / 1000];
  if (!mayBeTaken(millis, now)) return "cookieless_timestamp_out_of_range";
  const day =
    context.zones.dayIn($timezone ?? "", millis) ??
    context.zones.dayIn(context.timezone, millis) ??
    context.zones.dayIn("UTC", millis)!;
  const salt = context.salts.get(day.date);
  if (!salt || !isTaken(day.date, now)) return "cookieless_timestamp_out_of_range";
  const traits = { project_id: row.project_id, address, site, user_agent: $raw_user_agent };
  const extra = $cookieless_extra.slice(0, captureLimits.cookielessExtraCharsMax);
  return scrub(bytes, item, hashVisitor(salt, day, { ...traits, extra }));
}

/** @throws Fault unavailable when the scanned body holds cookieless events: a day's salt is missing. */
export function refuseCookieless(index: EventIndex): void {
  if (!(index.isPartial ? mayHaveCookieless(index.bytes) : hasCookieless(index, index.count))) return;
  throw unavailable("Cookieless events cannot be accepted right now. Send them again later.");
}

/** Whether an index has cookieless events; reads few bytes of each entry. */
function hasCookieless({ bytes, entries }: Indexed, count: number): boolean {
  for (let which = 0; which < count; which++) {
    const at = toOffset(which);
    if (gradeIn(entries[at + field.traits]!, trait.$cookieless_mode) === grade.sound) return true;
    for (const slot of [field.distinct_id, field.properties_distinct_id]) {
      const [from, to] = [entries[at + slot]!, entries[at + slot + 1]!];
      if (to - from > 2 && readString(bytes, from, to, id) && sameName(id, cookielessSentinel)) return true;
    }
  }
  return false;
}

/**
 * Whether a body may hold cookieless events, by its bytes: for bodies that are indexed in parts, whose events are not
 * known yet. True for some bodies that hold none.
 */
export function mayHaveCookieless(bytes: Uint8Array): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return needles.some((needle) => body.includes(needle));
}

/** A part of all texts that name such an event, and the escapes with which its letters may be written. */
const needles = ["cookieless", "\\u006", "\\u007"];

/** Overwritten for each entry. */
const id = emptyRange();

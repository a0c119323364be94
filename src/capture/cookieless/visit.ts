// An event of a visitor without a cookie: which ones are, why one is not taken, and what it becomes. Never asks a
// store.

import { cookielessLimits } from "./limits.ts";
import { cookielessSentinel } from "../../persons/identity.ts";
import { sameName } from "../event/event_rules.ts";
import { type Indexed, entryLength, field, grade, gradeIn, trait } from "../scan/event_fields.ts";
import type { Reason } from "../event/outcome.ts";
import { readString } from "../scan/json_value.ts";
import type { Row } from "../event/row.ts";
import { emptyRange, rangeText } from "../scan/byte_range.ts";
import { dayIn, isTaken, mayBeTaken } from "./day.ts";
import type { SaltsByDay } from "./salts.ts";
import { readTold, scrub } from "./scrub.ts";
import { siteOf } from "./site.ts";
import { distinctIdPrefix, visitorOf } from "./visitor.ts";

/** What is the same for every such event of a request. */
export interface Visiting {
  /** Whether the project takes them. */
  enabled: boolean;
  /** The project's time zone, for events that name none. */
  timezone: string;
  salts: SaltsByDay;
  /** The client's address; undefined when it is not known. */
  address: () => string | undefined;
}

/** Whether the event of entry `at`, whose distinct id `row` has, is a visitor's without a cookie. */
export function isVisit({ entries }: Indexed, at: number, { distinct_id }: Row): boolean {
  return (
    gradeIn(entries[at + field.traits]!, trait.$cookieless_mode) === grade.sound ||
    sameName(distinct_id, cookielessSentinel)
  );
}

export interface VisitTime {
  /** The event's, in microseconds since 1970. */
  timestamp: number;
  /** When the request arrived, likewise. */
  received: number;
  historical_migration: boolean;
}

/**
 * The event of entry `at` as it is stored: without user agent and address, under its visitor's id of the day. `row` has
 * its name, id and properties.
 * @returns its JSON text, or why it is not taken.
 */
export function readVisit(
  { bytes, entries }: Indexed,
  at: number,
  row: Row,
  visiting: Visiting | undefined,
  { timestamp, received, historical_migration }: VisitTime,
): Uint8Array | Reason {
  const item = entries[at + field.item]!;
  const isSentinel = sameName(row.distinct_id, cookielessSentinel);
  // Exported elsewhere and moved in: its id was made by a salt that is gone.
  const isDone =
    !isSentinel && (historical_migration || rangeText(row.distinct_id).startsWith(distinctIdPrefix));
  if (isDone) return scrub(bytes, item, undefined);
  const refused = refusalOf(row);
  if (refused) return refused;
  if (!visiting?.enabled) return "cookieless_team_disabled";
  const {
    $ip,
    $raw_user_agent,
    $cookieless_extra = "",
    $host,
    $timezone,
  } = readTold(row.properties.source, row.properties.from);
  if (!$raw_user_agent?.trim()) return "cookieless_missing_user_agent";
  const address = $ip?.trim() || visiting.address();
  if (!address) return "cookieless_missing_ip";
  const site = siteOf($host ?? "");
  if (site === undefined) return "cookieless_missing_host";
  const [millis, now] = [timestamp / 1000, received / 1000];
  if (!mayBeTaken(millis, now)) return "cookieless_timestamp_out_of_range";
  const day = dayIn($timezone ?? "", millis) ?? dayIn(visiting.timezone, millis) ?? dayIn("UTC", millis)!;
  const salt = visiting.salts.get(day.date);
  if (!salt || !isTaken(day.date, now)) return "cookieless_timestamp_out_of_range";
  const traits = { project_id: row.project_id, address, site, user_agent: $raw_user_agent };
  const extra = $cookieless_extra.slice(0, cookielessLimits.cookielessExtraCharsMax);
  return scrub(bytes, item, visitorOf(salt, day, { ...traits, extra }));
}

/** Ids of visitors without a cookie are never merged: such an id is another person's tomorrow. */
function refusalOf({ event }: Row): Reason | undefined {
  if (sameName(event, "$create_alias") || sameName(event, "$merge_dangerously"))
    return "cookieless_unsupported_event";
  return sameName(event, "$identify") ? "cookieless_stateless_no_identify" : undefined;
}

/** Whether any event of an index may be a visitor's without a cookie; looks at each entry, and at few bytes of it. */
export function holdsVisits({ bytes, entries }: Indexed, count: number): boolean {
  for (let at = 0; at < count * entryLength; at += entryLength) {
    if (gradeIn(entries[at + field.traits]!, trait.$cookieless_mode) === grade.sound) return true;
    for (const place of [field.distinct_id, field.properties_distinct_id]) {
      const [from, to] = [entries[at + place]!, entries[at + place + 1]!];
      if (to - from > 2 && readString(bytes, from, to, id) && sameName(id, cookielessSentinel)) return true;
    }
  }
  return false;
}

/**
 * The same of a body that is indexed in parts, by its bytes: its events are not known yet. True also for some bodies
 * that hold none.
 */
export function mayHoldVisits(bytes: Uint8Array): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return marks.some((mark) => body.includes(mark));
}

/** In all that marks such an event, and the escapes that a letter of it may be written with. */
const marks = ["cookieless", "\\u006", "\\u007"];

/** Filled anew for each entry. */
const id = emptyRange();

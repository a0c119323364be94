// Whether a journal and the database that answered belong together, whether another process has the same journal, and
// the errors of a start where they must not be used: one line each, with the way out.

import { dirname } from "node:path";
import { sleep } from "../../../core/clock.ts";
import { UserError } from "../../../core/fault.ts";
import { journalLimits } from "../limits.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { type Home, isElsewhere } from "./journal_home.ts";
import type { JournalIdentity } from "./journal_identity.ts";
import type { Pending } from "../journal_room.ts";
import { type Registration, readRegistration } from "./store.ts";

export type PairStanding =
  /** They belong together, and nobody else holds the journal. */
  | "ours"
  /** The number is another database's. */
  | "foreign"
  /** A running process holds the journal that this one is a copy of. */
  | "copy"
  /** Another journal has the number, or another process the journal. */
  | "lost";

/** What is written beside a journal, and where the journal is now. */
export interface KnownJournal {
  identity: JournalIdentity;
  home: Home;
}

/** Watches the database for journalLimits.journalAliveMs when folder or holder are not those of before. */
export async function pairStandingOf(
  { identity, home }: KnownJournal,
  registration: Registration,
  { sql, postgres }: { sql: Postgres; postgres: string },
): Promise<PairStanding> {
  if (identity.database !== registration.database) return "foreign";
  const { number } = identity;
  const { row, isTaken } = registration;
  const { holder = null, number: registered = number } = row ?? {};
  const isHeld = holder !== null && holder !== identity.holder && holder !== identity.earlier;
  const isMoved = isElsewhere(identity.home, home);
  // No other server reaches an embedded database.
  const isWatched = (isHeld || isMoved) && postgres !== embeddedAddress;
  if (isWatched && (await isPublished(sql, identity, registration))) return "copy";
  return isHeld || isTaken || registered !== number ? "lost" : "ours";
}

/** Whether some process publishes the journal's watermark right now. */
async function isPublished(
  sql: Postgres,
  identity: JournalIdentity,
  { row }: Registration,
): Promise<boolean> {
  if (!row) return false;
  for (let waited = 0; waited < journalLimits.journalAliveMs; waited += aliveAgainMs) {
    await sleep(aliveAgainMs);
    const now = await readRegistration(sql, identity);
    if (now.row && now.row.seen !== row.seen) return true;
  }
  return false;
}

const aliveAgainMs = 250;

interface Waiting {
  /** The journal's own folder. */
  folder: string;
  pending: Pending;
}

/** The journal holds events of another database's projects; `before` is where that database was. */
export function foreignPair({
  folder,
  pending,
  before,
  postgres,
}: Waiting & { before: string; postgres: string }): UserError {
  const setting = before === embeddedAddress ? "DATABASE_URL unset" : "that DATABASE_URL";
  return new UserError(
    `${countOf(pending)} in ${folder} wait for the Postgres they were captured with (${placeOf(before)}), and ` +
      `${placeOf(postgres)} is another one; start once with ${setting} until they are flushed, ` +
      `or move ${folder} away to go on without them`,
  );
}

/** The journal holds events that a running process flushes as well. */
export function livingTwin({ folder, pending, home }: Waiting & { home: Home }): UserError {
  return new UserError(
    `${dirname(folder)} is a copy of ${home.path} on ${home.host}, whose server is running and flushes the same ` +
      `${countOf(pending)}; stop that one first, or move ${folder} away to start without them`,
  );
}

function countOf({ events, bytes }: Pending): string {
  if (events === 0) return `${bytes} bytes of merges and warnings`;
  return `${events} ${events === 1 ? "event" : "events"}`;
}

function placeOf(postgres: string): string {
  return postgres === embeddedAddress ? "the embedded one" : postgres;
}

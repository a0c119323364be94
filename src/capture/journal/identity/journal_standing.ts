// Whether a journal and a database that answered belong together, and whether another process has the same journal.

import { sleep } from "../../../core/clock.ts";
import { journalLimits } from "../limits.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { type Home, isElsewhere } from "./journal_home.ts";
import type { JournalIdentity } from "./journal_identity.ts";
import { type Registration, readRegistration } from "./store.ts";

export type PairStanding =
  /** They belong together, and nobody else holds the journal. */
  | "ours"
  /** The number is another database's. */
  | "foreign"
  /** A living process holds the journal that this one is a copy of. */
  | "copy"
  /** The number, or the journal, has become another's. */
  | "lost";

/** What is written beside a journal, and where it is now. */
export interface KnownJournal {
  identity: JournalIdentity;
  home: Home;
}

/** Watches the database for journalLimits.journalAliveMs when the folder or the holder is another one than before. */
export async function pairStandingOf(
  { identity, home }: KnownJournal,
  registration: Registration,
  { sql, postgres }: { sql: Postgres; postgres: string },
): Promise<PairStanding> {
  if (isOfAnother(identity, registration, postgres)) return "foreign";
  const { bond, number } = identity;
  const { row, isTaken } = registration;
  const { holder = null, number: registered = number } = row ?? {};
  const isHeld = holder !== null && holder !== bond?.holder && holder !== bond?.earlier;
  const isMoved = isElsewhere(bond?.home, home);
  // Nobody else reaches an embedded database.
  const isWatched = (isHeld || isMoved) && postgres !== embeddedAddress;
  if (isWatched && (await isTold(sql, identity, registration))) return "copy";
  return isHeld || isTaken || registered !== number ? "lost" : "ours";
}

export function isOfAnother(
  { bond, number }: JournalIdentity,
  known: Registration,
  postgres: string,
): boolean {
  if (bond) return bond.database !== known.database;
  // An earlier version wrote no database: one that knows the journal is its own, or the embedded one beside it.
  if (known.row) return known.row.number !== number;
  return postgres !== embeddedAddress;
}

/** Whether some process tells of the journal right now. */
async function isTold(sql: Postgres, identity: JournalIdentity, { row }: Registration): Promise<boolean> {
  if (!row) return false;
  for (let waited = 0; waited < journalLimits.journalAliveMs; waited += aliveAgainMs) {
    await sleep(aliveAgainMs);
    const now = await readRegistration(sql, identity);
    if (now.row && now.row.seen !== row.seen) return true;
  }
  return false;
}

const aliveAgainMs = 250;

// Why a journal and a database are not used together, in one line with the way out of it.

import { dirname } from "node:path";
import { UserError } from "../../../core/fault.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Home } from "./journal_home.ts";
import type { Bond } from "./journal_identity.ts";
import type { Pending } from "../journal_room.ts";

interface Waiting {
  /** The journal's own folder. */
  folder: string;
  pending: Pending;
}

/** Events wait that are of another database's projects. */
export function foreignPair({
  folder,
  pending,
  bond,
  postgres,
}: Waiting & { bond: Bond | undefined; postgres: string }): UserError {
  const before = bond === undefined ? "" : ` (${placeOf(bond.postgres)})`;
  return new UserError(
    `${countOf(pending)} in ${folder} wait for the Postgres they were captured with${before}, and ` +
      `${placeOf(postgres)} is another one; start once with ${settingOf(bond?.postgres)} until they are flushed, ` +
      `or move ${folder} away to go on without them`,
  );
}

/** Events wait that a living process flushes as well. */
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

function settingOf(postgres: string | undefined): string {
  if (postgres === undefined) return "the DATABASE_URL of before, or without one,";
  return postgres === embeddedAddress ? "DATABASE_URL unset" : "that DATABASE_URL";
}

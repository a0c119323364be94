// Errors of a start on a journal and a database that must not be used together: one line each, with the way out.

import { dirname } from "node:path";
import { UserError } from "../../../core/fault.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Home } from "./journal_home.ts";
import type { Pending } from "../journal_room.ts";

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

// What an operator reads of a journal that is a copy, or may not be used, and what to do then.

import { dirname } from "node:path";
import { UserError } from "../../../core/fault.ts";
import type { Log } from "../../../core/log.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Pending } from "../figures.ts";
import { type Home, isStillThere } from "./journal_identity.ts";

/** Logs that the folder was copied or moved since it was used at `before`. */
export function logCopy(
  { folder, postgres, log }: { folder: string; postgres: string; log: Log },
  before: Home,
): void {
  const follows =
    postgres === embeddedAddress
      ? "its embedded stores hold what was copied and share nothing with the original; copied while a server " +
        "ran, they may be damaged"
      : "its journal continues, as no other process uses it";
  const from = { from: before.path, host: before.host, still_there: isStillThere(before) };
  log.warn(`DATA_DIR is a copy, or was moved: ${follows}`, { data_dir: dirname(folder), ...from });
}

/** A newer version did not see this process, or did not wait for it: it was unreachable for long, or just starting. */
export function fenced(): UserError {
  return new UserError(
    "a newer version has changed the stores incompatibly; run that version: what was captured is kept in the journal",
  );
}

/** The journal holds events of another database's projects; `before` is where that database was. */
export function foreign(folder: string, pending: Pending, before: string, postgres: string): UserError {
  const setting = before === embeddedAddress ? "DATABASE_URL unset" : "that DATABASE_URL";
  return new UserError(
    `${countOf(pending)} in ${folder} wait for the Postgres they were captured with (${nameOfPostgres(before)}), and ` +
      `${nameOfPostgres(postgres)} is another one; start once with ${setting} until they are flushed, ` +
      `or move ${folder} away to go on without them`,
  );
}

/** The operator decides which of the two gets the journal. */
export function twoInUse(folder: string, { path, host }: Home): UserError {
  return new UserError(
    `${dirname(folder)} has the same journal as a server that runs now (it was last used at ${path} on ${host}): ` +
      "stop that server, or create a journal for this copy with: bun run sluice journal adopt",
  );
}

function countOf({ events, bytes }: Pending): string {
  if (events === 0) return `${bytes} bytes of merges and warnings`;
  return `${events} ${events === 1 ? "event" : "events"}`;
}

export function nameOfPostgres(postgres: string): string {
  return postgres === embeddedAddress ? "the embedded one" : postgres;
}

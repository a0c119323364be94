// The journal's identity, written in its folder and in the database: under a new name and number, or claimed by another
// process.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { sleep } from "../../../core/clock.ts";
import { withinMs } from "../../../core/deadline.ts";
import { UserError } from "../../../core/fault.ts";
import { newUuid } from "../../../core/id.ts";
import { limits } from "../../../core/limits.ts";
import type { Log } from "../../../core/log.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { journalLimits } from "../limits.ts";
import { isFull } from "../segments/files.ts";
import {
  type Home,
  homeOf,
  type JournalIdentity,
  repairIdentity,
  writeIdentity,
} from "./journal_identity.ts";
import { nameOfPostgres } from "./refusals.ts";
import { leaveJournals, readRegistration, registerJournal, type Registration, thisProcess } from "./store.ts";

export interface RegistrationOptions {
  sql: Postgres;
  folder: string;
  /** Where the database is, as databaseOf() returns it. */
  postgres: string;
  log: Log;
}

/**
 * Registers a journal under a new name and number.
 * @param before its identity until now, if it has one: the keys of that database are saved beside it.
 * @param mayBeFull whether a full disk is only logged where the database is the one before: the flush must begin, since
 * it frees space, and the next start decides again.
 */
export async function registerAnew(
  { sql, folder, postgres, log }: RegistrationOptions,
  before?: JournalIdentity,
  mayBeFull = false,
): Promise<JournalIdentity> {
  const [name, holder, home] = [newUuid(), newUuid(), homeOf(dirname(folder))];
  const { number, database } = await registerJournal(sql, { name, holder }, thisProcess(home));
  const isSame = database === before?.database;
  // Keys saved beside a journal belong to its database, as do the numbers of their projects.
  if (!isSame) rmSync(`${folder}/keys.json`, { force: true });
  const made = { life: (before?.life ?? 0) + 1, renamed: before?.name ?? "", earlier: "" };
  const identity = { name, number, database, postgres, holder, home, ...made };
  await writeIdentity(folder, identity).catch(async (thrown: unknown) => {
    if (mayBeFull && isSame && isFull(thrown)) return log.warn(unwritten, { folder });
    // No process will publish under this name: exports and deletions would wait for it.
    await leaveJournals(sql, identity).catch(() => undefined);
    throw thrown;
  });
  return identity;
}

/** Writes in the folder that this process holds the journal. The caller then claims it in the database. */
export async function writeClaim(
  { folder, postgres, log }: RegistrationOptions,
  identity: JournalIdentity,
  home: Home,
  row: Registration["row"],
): Promise<JournalIdentity> {
  const [holder, earlier] = [newUuid(), row?.holder ?? identity.holder];
  const claim = { ...identity, postgres, holder, earlier, home, life: identity.life + 1 };
  // First beside the journal: after a crash in between the next start must recognize its own claim.
  await writeIdentity(folder, claim).catch((thrown: unknown) => {
    // The flush must begin, since it frees space, and the next start decides again.
    if (!isFull(thrown)) throw thrown;
    log.warn(unwritten, { folder });
  });
  return claim;
}

/**
 * Registers a copied journal under a name and number of its own, so that it may be used beside its original. Pending
 * events stay: the next start checks each batch before it sends it. Returns the numbers before and after; undefined
 * where there is no journal.
 * @throws UserError when it is another database's.
 */
export async function adoptJournal(
  options: RegistrationOptions,
): Promise<{ before: number; number: number } | undefined> {
  const { sql, folder, postgres, log } = options;
  const before = await repairIdentity(folder, log);
  if (!before) return undefined;
  const { database } = await readRegistration(sql, before, thisProcess(before.home));
  if (database !== before.database) {
    const [used, other] = [nameOfPostgres(before.postgres), nameOfPostgres(postgres)];
    throw new UserError(`${folder} was used with ${used}, and ${other} is another one`);
  }
  const { number } = await registerAnew(options, before);
  // In a folder that was adopted before, or is the original: no process publishes under the name any more.
  if (before.home.inodes === homeOf(dirname(folder)).inodes) await leaveJournals(sql, before);
  return { before: before.number, number };
}

/** Whether some process publishes the journal's watermark right now. */
export async function isPublished(read: () => Promise<Registration>, seen: string | null): Promise<boolean> {
  await sleep(journalLimits.journalAliveMs);
  const { row } = await withinMs(read(), limits.healthMsMax);
  return row !== undefined && row.seen !== seen;
}

const unwritten = "the disk is full: the journal's identity could not be written";

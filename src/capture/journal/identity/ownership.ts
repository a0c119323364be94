// Whose a journal is: the database that numbered it, and the process that holds it. A copy whose original is in use is
// refused before anything of it is written. All else is decided at the start, or as soon as the database answers; no
// watermark is published and nothing is flushed before that.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, sleep } from "../../../core/clock.ts";
import { withinMs } from "../../../core/deadline.ts";
import { UserError } from "../../../core/fault.ts";
import { newUuid } from "../../../core/id.ts";
import { limits } from "../../../core/limits.ts";
import { type Log, reasonOf } from "../../../core/log.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import { knownMigrations } from "../../../storage/migrations/files.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import type { Pending, Watermarks } from "../journal.ts";
import { journalLimits } from "../limits.ts";
import { isFull } from "../segments/files.ts";
import {
  type Home,
  homeOf,
  isStillThere,
  type JournalIdentity,
  repairIdentity,
  writeIdentity,
} from "./journal_identity.ts";
import {
  claimJournal,
  leaveJournals,
  type Process,
  publishWatermarks,
  readRegistration,
  registerJournal,
  type Registration,
} from "./store.ts";

interface OwnershipOptions {
  sql: Postgres;
  folder: string;
  /** Where the database is, as databaseOf() returns it. */
  postgres: string;
  clock: Clock;
  log: Log;
}

interface OwnedJournal {
  pending(): Pending;
  watermarks(): Watermarks;
  renumber(number: number): void;
}

/**
 * @throws UserError for a copy whose original is in use, with nothing written; and any other error when Postgres does
 * not answer at the first start of a journal, or of a folder that was copied or moved.
 */
export async function openOwnership(options: OwnershipOptions): Promise<JournalOwnership> {
  const { sql, folder, postgres, log } = options;
  const known = await repairIdentity(folder, log);
  if (known) {
    const ownership = new JournalOwnership(options, known, false);
    await ownership.readDatabase();
    return ownership;
  }
  const made = await registeredAnew({ sql, folder, postgres }, 1, "");
  return new JournalOwnership(options, made, true);
}

export class JournalOwnership {
  readonly #options: OwnershipOptions;
  readonly #home: Home;
  readonly #process: Process;
  readonly #verified = Promise.withResolvers<void>();
  readonly #broken = Promise.withResolvers<UserError>();
  /** Resolves when journal and database are known to belong together. */
  readonly verified = this.#verified.promise;
  /** Resolves to the reason when they are found not to belong together, after the start. */
  readonly broken = this.#broken.promise;
  /** Whether they were found not to belong together, so that nothing more may be flushed. */
  isBroken = false;
  #identity: JournalIdentity;
  #isVerified: boolean;
  /** The database's answer at the start; undefined without one. */
  #registration: Registration | undefined;

  constructor(options: OwnershipOptions, identity: JournalIdentity, isVerified: boolean) {
    this.#options = options;
    this.#identity = identity;
    this.#home = homeOf(dirname(options.folder));
    this.#process = ownProcess(this.#home);
    this.#isVerified = isVerified;
    if (isVerified) this.#verified.resolve();
  }

  get number(): number {
    return this.#identity.number;
  }

  /** The id of the database whose projects the journal's events are of. */
  get database(): string {
    return this.#identity.database;
  }

  /** Whether the database has answered and is another one than the journal's. */
  get isForeign(): boolean {
    return this.#registration !== undefined && this.#registration.database !== this.database;
  }

  /** Whether the folder is another one than at its last use, or a copy in its place. */
  get #isElsewhere(): boolean {
    return this.#identity.home.inodes !== this.#home.inodes;
  }

  /** Logs that the folder was copied or moved since its last use. */
  logCopy(): void {
    const { folder, postgres, log } = this.#options;
    const before = this.#identity.home;
    if (!this.#isElsewhere) return;
    const follows =
      postgres === embeddedAddress
        ? "its embedded stores hold what was copied and share nothing with the original; copied while a server " +
          "ran, they may be damaged"
        : "its journal continues, as no other process uses it";
    const from = { from: before.path, host: before.host, still_there: isStillThere(before) };
    log.warn(`DATA_DIR is a copy, or was moved: ${follows}`, { data_dir: dirname(folder), ...from });
  }

  /**
   * Reads the database, if it answers.
   * @throws as openOwnership() does.
   */
  async readDatabase(): Promise<void> {
    const { folder, postgres, log } = this.#options;
    // No other server reaches an embedded database.
    const isShared = postgres !== embeddedAddress;
    try {
      this.#registration = await withinMs(this.#read(), limits.healthMsMax);
    } catch (thrown) {
      // A copy captures nothing before it is known that its original is not in use.
      if (isShared && this.#isElsewhere) throw thrown;
      log.debug("the journal's database does not answer yet", { reason: reasonOf(thrown) });
      return;
    }
    const { row } = this.#registration;
    if (!isShared || !row || !(this.#isElsewhere || this.#isClaimedByOther(row))) return;
    const inUse = await this.#isPublished(row.seen).catch((thrown: unknown) => {
      if (this.#isElsewhere) throw thrown;
      // Decided later, as without a first answer.
      this.#registration = undefined;
      return false;
    });
    if (inUse) throw twoInUse(folder, this.#identity.home);
  }

  /**
   * Decides with the database's answer at the start; without one, publish() decides later.
   * @throws UserError when the journal holds events of another database.
   */
  async settle(journal: OwnedJournal): Promise<void> {
    if (this.#isVerified || !this.#registration) return;
    await this.#decide(journal, this.#registration, true).catch((thrown: unknown) => {
      if (thrown instanceof UserError) throw thrown;
      this.#options.log.warn("the journal's number is not confirmed yet", { reason: reasonOf(thrown) });
    });
  }

  /** Publishes the journal's watermark; decides first, if settle() could not. */
  async publish(journal: OwnedJournal): Promise<void> {
    if (this.isBroken) return;
    const { sql, clock } = this.#options;
    if (!this.#isVerified) await this.#decideLater(journal);
    const marks = journal.watermarks();
    const isPublished = await publishWatermarks(sql, this.#identity, this.#process, marks, clock.now());
    if (!isPublished) await this.#decideLater(journal);
  }

  /** Removes the journal's registration: exports do not wait for it any more. */
  async leave(): Promise<void> {
    if (this.#isVerified && !this.isBroken) await leaveJournals(this.#options.sql, this.#identity);
  }

  #read(): Promise<Registration> {
    return readRegistration(this.#options.sql, this.#identity, this.#process);
  }

  /** Whether another process than this one and the one before it has claimed the journal. */
  #isClaimedByOther(row: Registration["row"]): boolean {
    const { holder, earlier } = this.#identity;
    return row !== undefined && row.holder !== null && row.holder !== holder && row.holder !== earlier;
  }

  /** Whether some process publishes the journal's watermark right now. */
  async #isPublished(seen: string | null): Promise<boolean> {
    return await isPublished(() => withinMs(this.#read(), limits.healthMsMax), seen);
  }

  /** Whether a process that claimed the journal before this one could ask runs with what waits here. */
  async #isCopy({ row }: Registration, journal: OwnedJournal): Promise<boolean> {
    if (this.#isVerified || this.#options.postgres === embeddedAddress) return false;
    if (!row || !this.#isClaimedByOther(row) || journal.pending().bytes === 0) return false;
    return await this.#isPublished(row.seen);
  }

  async #decideLater(journal: OwnedJournal): Promise<void> {
    try {
      const registration = await this.#read();
      if (await this.#isCopy(registration, journal)) {
        throw twoInUse(this.#options.folder, this.#identity.home);
      }
      await this.#decide(journal, registration, false);
    } catch (thrown) {
      this.isBroken = thrown instanceof UserError;
      if (thrown instanceof UserError) this.#broken.resolve(thrown);
      throw thrown;
    }
  }

  /** @throws UserError when they do not belong together; any other error when it is to be tried again. */
  async #decide(journal: OwnedJournal, registration: Registration, isStart: boolean): Promise<void> {
    const { database, row, isTaken, isFenced } = registration;
    const { folder, postgres, log } = this.#options;
    const { number, name, ...before } = this.#identity;
    if (isFenced) throw fenced();
    if (database !== before.database) {
      const pending = journal.pending();
      // After the start, keys of the other database are in memory: ends the process even if nothing waits.
      if (!isStart || pending.bytes > 0) throw foreign(folder, pending, before.postgres, postgres);
      await this.#renew(journal);
      const text =
        "the journal belonged to another Postgres: it got a new number, and that one's keys are forgotten";
      log.warn(text, { postgres, journal_before: name });
    } else if (isTaken || (row?.number ?? number) !== number || this.#isClaimedByOther(row)) {
      await this.#renew(journal);
      const about = { folder: dirname(folder), number: this.number };
      log.warn("another journal uses this one's number: it got a new one", about);
    } else await this.#claim(row);
    this.#isVerified = true;
    this.#verified.resolve();
  }

  async #claim(row: Registration["row"]): Promise<void> {
    const { sql, folder, postgres, log } = this.#options;
    const earlier = row?.holder ?? this.#identity.holder;
    const life = this.#identity.life + 1;
    const claim = { ...this.#identity, postgres, holder: newUuid(), earlier, home: this.#home, life };
    // First beside the journal: after a crash in between the next start must recognize its own claim.
    await writeIdentity(folder, claim).catch((thrown: unknown) => {
      // On a full disk the flush must begin, since it frees space, and the next start decides again.
      if (!isFull(thrown)) throw thrown;
      log.warn(unwritten, { folder });
    });
    this.#identity = claim;
    if (!(await claimJournal(sql, claim, this.#process, row))) throw new Error("another process claimed it");
  }

  /** Registers the journal under a new name and number, for what is captured from now on. */
  async #renew(journal: OwnedJournal): Promise<void> {
    const { life, name } = this.#identity;
    const { log, folder } = this.#options;
    const onFull = () => log.warn(unwritten, { folder });
    this.#identity = await registeredAnew(this.#options, life + 1, name, this.database, onFull);
    journal.renumber(this.#identity.number);
  }
}

/**
 * Registers a copied journal under a name and number of its own, so that it may be used beside its original. Pending
 * events stay: the next start checks each batch before it sends it. Returns the numbers before and after; undefined
 * where there is no journal.
 * @throws UserError when it is another database's.
 */
export async function adoptJournal(
  options: Omit<OwnershipOptions, "clock">,
): Promise<{ before: number; number: number } | undefined> {
  const { sql, folder, postgres, log } = options;
  const before = await repairIdentity(folder, log);
  if (!before) return undefined;
  const { database } = await readRegistration(sql, before, ownProcess(before.home));
  if (database !== before.database) {
    throw new UserError(
      `${folder} was used with ${placeOf(before.postgres)}, and ${placeOf(postgres)} is another one`,
    );
  }
  const { number } = await registeredAnew(options, before.life + 1, before.name, database);
  // In a folder that was adopted before, or is the original: no process publishes under the name any more.
  if (before.home.inodes === homeOf(dirname(folder)).inodes) await leaveJournals(sql, before);
  return { before: before.number, number };
}

const unwritten = "the disk is full: the journal's identity could not be written";

/** Whether somebody publishes a watermark while it is watched. */
async function isPublished(read: () => Promise<Registration>, seen: string | null): Promise<boolean> {
  await sleep(journalLimits.journalAliveMs);
  const { row } = await read();
  return row !== undefined && row.seen !== seen;
}

/**
 * Registers a journal under a new name and number.
 * @param known the database whose keys are saved beside it.
 * @param onFull called instead of failing where the disk is full and the database the known one: the flush must begin,
 * since it frees space, and the next start decides again.
 */
async function registeredAnew(
  { sql, folder, postgres }: Pick<OwnershipOptions, "sql" | "folder" | "postgres">,
  life: number,
  renamed: string,
  known?: string,
  onFull?: () => void,
): Promise<JournalIdentity> {
  const [name, holder] = [newUuid(), newUuid()];
  const home = homeOf(dirname(folder));
  const { number, database } = await registerJournal(sql, { name, holder }, ownProcess(home));
  // Keys saved beside a journal belong to its database, as do the numbers of their projects.
  if (database !== known) rmSync(`${folder}/keys.json`, { force: true });
  const identity = { name, number, database, postgres, holder, earlier: "", life, renamed, home };
  await writeIdentity(folder, identity).catch(async (thrown: unknown) => {
    if (onFull && database === known && isFull(thrown)) return onFull();
    // No process will publish under this name: exports and deletions would wait for it.
    await leaveJournals(sql, identity).catch(() => undefined);
    throw thrown;
  });
  return identity;
}

function ownProcess({ host, path }: Home): Process {
  return { knows: knownMigrations(), location: `${host}:${path}` };
}

/** A newer version did not see this process, or did not wait for it: it was unreachable for long, or just starting. */
function fenced(): UserError {
  return new UserError(
    "a newer version has changed the stores incompatibly; run that version: what was captured is kept in the journal",
  );
}

/** The journal holds events of another database's projects; `before` is where that database was. */
function foreign(folder: string, pending: Pending, before: string, postgres: string): UserError {
  const setting = before === embeddedAddress ? "DATABASE_URL unset" : "that DATABASE_URL";
  return new UserError(
    `${countOf(pending)} in ${folder} wait for the Postgres they were captured with (${placeOf(before)}), and ` +
      `${placeOf(postgres)} is another one; start once with ${setting} until they are flushed, ` +
      `or move ${folder} away to go on without them`,
  );
}

/** The operator decides which of the two gets the journal. */
function twoInUse(folder: string, { path, host }: Home): UserError {
  return new UserError(
    `${dirname(folder)} has the same journal as a server that runs now (it was last used at ${path} on ${host}): ` +
      "stop that server, or create a journal for this copy with: bun run sluice journal adopt",
  );
}

function countOf({ events, bytes }: Pending): string {
  if (events === 0) return `${bytes} bytes of merges and warnings`;
  return `${events} ${events === 1 ? "event" : "events"}`;
}

function placeOf(postgres: string): string {
  return postgres === embeddedAddress ? "the embedded one" : postgres;
}

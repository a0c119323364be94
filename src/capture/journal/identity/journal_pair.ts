// The pair of a journal and the database that numbered it. At each start, or as soon as the database answers, decides
// whether the two still belong together, and whether another process has the same journal; no watermark is published
// and nothing is flushed before that.

import type { Pending, Watermarks } from "../journal.ts";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, sleep } from "../../../core/clock.ts";
import { withinMs } from "../../../core/deadline.ts";
import { UserError } from "../../../core/fault.ts";
import { newUuid } from "../../../core/id.ts";
import { limits } from "../../../core/limits.ts";
import { type Log, reasonOf } from "../../../core/log.ts";
import { knownMigrations } from "../../../storage/migrations/files.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { journalLimits } from "../limits.ts";
import { isFull } from "../segments/files.ts";
import {
  type Home,
  type JournalIdentity,
  homeOf,
  isStillThere,
  mendIdentity,
  writeIdentity,
} from "./journal_identity.ts";
import {
  type Registration,
  type Process,
  claimJournal,
  leaveJournals,
  publishWatermarks,
  readRegistration,
  registerJournal,
} from "./store.ts";

interface PairOptions {
  sql: Postgres;
  folder: string;
  /** Where the database is, as databaseOf() says. */
  postgres: string;
  clock: Clock;
  log: Log;
}

interface Paired {
  pending(): Pending;
  watermarks(): Watermarks;
  renumber(number: number): void;
}

type Standing =
  /** They belong together, and nobody else holds the journal. */
  | "ours"
  /** The number is another database's. */
  | "foreign"
  /** A running process holds the journal that this one is a copy of. */
  | "copy"
  /** Another journal has the number, or another process the journal. */
  | "lost";

/** @throws when this is the journal's first start and Postgres does not answer. */
export async function openPair(options: PairOptions): Promise<JournalPair> {
  const { folder, log } = options;
  const known = await mendIdentity(folder, log);
  if (!known) return new JournalPair(options, await firstIdentity(options), true);
  const pair = new JournalPair(options, known, false);
  await pair.look();
  return pair;
}

export class JournalPair {
  /** Whether the original's processes may still use the registrations of journals that were copied with this one. */
  isTwin = false;
  readonly #options: PairOptions;
  readonly #home: Home;
  readonly #process: Process;
  readonly #verified = Promise.withResolvers<void>();
  readonly #broken = Promise.withResolvers<UserError>();
  #identity: JournalIdentity;
  #isVerified: boolean;
  #isBroken = false;
  /** The database's answer at the start; undefined without one. */
  #registration: Registration | undefined;

  constructor(options: PairOptions, identity: JournalIdentity, isVerified: boolean) {
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

  /** Resolves when journal and database are known to belong together. */
  get verified(): Promise<void> {
    return this.#verified.promise;
  }

  /** Resolves to the reason when they are found not to belong together, after the start. */
  get broken(): Promise<UserError> {
    return this.#broken.promise;
  }

  /** Whether they were found not to belong together, so that nothing more may be flushed. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Whether the database has answered and is another one than the journal's. */
  get isForeign(): boolean {
    return this.#registration !== undefined && this.#registration.database !== this.database;
  }

  /** Logs that the folder was copied or moved since its last use. */
  logCopy(): void {
    const { folder, postgres, log } = this.#options;
    const before = this.#identity.home;
    if (!this.#isElsewhere) return;
    const follows =
      postgres === embeddedAddress
        ? "its embedded stores hold what the copy caught and share nothing with the original; copied while a server " +
          "ran, they may be damaged"
        : "its journal goes on when no other process uses it, else under a new number";
    const from = { from: before.path, host: before.host, still_there: isStillThere(before) };
    log.warn(`DATA_DIR is a copy, or was moved: ${follows}`, { data_dir: dirname(folder), ...from });
  }

  /** Whether the folder is another one than at its last use, or a copy in its place. */
  get #isElsewhere(): boolean {
    return this.#identity.home.inodes !== this.#home.inodes;
  }

  /** Asks the database, if it answers. */
  async look(): Promise<void> {
    const { sql, log } = this.#options;
    try {
      this.#registration = await withinMs(
        readRegistration(sql, this.#identity, this.#process),
        limits.healthMsMax,
      );
    } catch (thrown) {
      log.debug("the journal's database does not answer yet", { reason: reasonOf(thrown) });
    }
  }

  /**
   * Decides with the database's answer at the start; without one, publish() decides later.
   * @throws UserError when the journal holds events of another database, or that another process flushes as well.
   */
  async settle(journal: Paired): Promise<void> {
    if (this.#isVerified || !this.#registration) return;
    await this.#decide(journal, this.#registration, "start").catch((thrown: unknown) => {
      if (thrown instanceof UserError) throw thrown;
      this.#options.log.warn("the journal's number is not confirmed yet", { reason: reasonOf(thrown) });
    });
  }

  /** Publishes the journal's watermark; decides first, if settle() could not. */
  async publish(journal: Paired): Promise<void> {
    if (this.#isBroken) return;
    const { sql, clock } = this.#options;
    if (!this.#isVerified) await this.#decideLater(journal, "late");
    const marks = journal.watermarks();
    const told = await publishWatermarks(sql, this.#identity, this.#process, marks, clock.now());
    if (!told) await this.#decideLater(journal, "running");
  }

  /** Removes the journal's registration: exports do not wait for it any more. */
  async leave(): Promise<void> {
    const { name, holder } = this.#identity;
    if (this.#isVerified && !this.#isBroken) await leaveJournals(this.#options.sql, name, holder);
  }

  async #decideLater(journal: Paired, when: "late" | "running"): Promise<void> {
    try {
      const registration = await readRegistration(this.#options.sql, this.#identity, this.#process);
      await this.#decide(journal, registration, when);
    } catch (thrown) {
      if (thrown instanceof UserError) {
        this.#isBroken = true;
        this.#broken.resolve(thrown);
      }
      throw thrown;
    }
  }

  async #decide(journal: Paired, first: Registration, when: "start" | "late" | "running"): Promise<void> {
    let registration = first;
    for (let attempt = 0; attempt < journalLimits.journalClaimsMax; attempt++) {
      if (registration.isOutlived) throw outlived();
      const standing = await this.#standing(registration);
      const isDone = await this.#act(standing, registration, journal, when);
      if (isDone) {
        this.#isVerified = true;
        this.#verified.resolve();
        return;
      }
      // Another process claimed it in between.
      registration = await readRegistration(this.#options.sql, this.#identity, this.#process);
    }
    throw new Error("others claim the same journal");
  }

  /** Watches the database for journalLimits.journalAliveMs when folder or holder are not those of before. */
  async #standing(registration: Registration): Promise<Standing> {
    const { database, holder: own, earlier, number } = this.#identity;
    if (database !== registration.database) return "foreign";
    const { row, isTaken } = registration;
    const { holder = null, number: registered = number } = row ?? {};
    const isHeld = holder !== null && holder !== own && holder !== earlier;
    // No other server reaches an embedded database.
    const isWatched = (isHeld || this.#isElsewhere) && this.#options.postgres !== embeddedAddress;
    if (isWatched && row && (await this.#isPublished(row.seen))) return "copy";
    return isHeld || isTaken || registered !== number ? "lost" : "ours";
  }

  /** Whether some process publishes the journal's watermark right now. */
  async #isPublished(seen: string | null): Promise<boolean> {
    for (let waited = 0; waited < journalLimits.journalAliveMs; waited += aliveAgainMs) {
      await sleep(aliveAgainMs);
      const { row } = await readRegistration(this.#options.sql, this.#identity, this.#process);
      if (row && row.seen !== seen) return true;
    }
    return false;
  }

  /** Resolves to false when the standing must be determined again. */
  async #act(
    standing: Standing,
    { database, row }: Registration,
    journal: Paired,
    when: "start" | "late" | "running",
  ): Promise<boolean> {
    const { log, postgres, folder } = this.#options;
    if (standing === "ours") return await this.#claim(database, row);
    const pending = journal.pending();
    const isPending = pending.bytes > 0 || pending.events > 0;
    const { home, postgres: before } = this.#identity;
    if (standing === "foreign") {
      // After the start, keys of the other database are in memory: ends the process even if nothing waits.
      if (isPending || when !== "start") throw foreignPair(folder, pending, before, postgres);
      await this.#renew(journal, true);
      const text =
        "the journal was used with another Postgres: it got a new number, and keys of the old one end";
      log.warn(text, { postgres, journal_before: this.#identity.renamed });
      return true;
    }
    this.isTwin = standing === "copy";
    if (this.isTwin && isPending && when !== "running") throw livingTwin(folder, pending, home);
    await this.#renew(journal, false);
    const { path, host } = this.#identity.home;
    log.warn(
      this.isTwin
        ? "DATA_DIR is a copy of a folder whose server is running: its journal got a number of its own"
        : "the journal's number is another's by now: it got a new one",
      { folder: dirname(folder), path, host, number: this.number },
    );
    return true;
  }

  async #claim(database: string, row: Registration["row"]): Promise<boolean> {
    const { sql } = this.#options;
    const { name, number, renamed } = this.#identity;
    const holder = newUuid();
    const earlier = row?.holder ?? this.#identity.holder;
    // First beside the journal: after a crash in between the next start must recognize its own claim.
    await this.#write({ name, number, database, holder, earlier, renamed });
    return await claimJournal(sql, { name, number, holder }, this.#process, row);
  }

  /** Gives the journal a new name and number, for what is captured from now on. */
  async #renew(journal: Paired, isForeign: boolean): Promise<void> {
    const { sql, folder } = this.#options;
    const [name, holder] = [newUuid(), newUuid()];
    const { number, database } = await registerJournal(sql, { name, holder }, this.#process);
    if (isForeign) forgetKeys(folder);
    const renamed = this.#identity.name;
    await this.#write({ name, number, database, holder, earlier: "", renamed });
    journal.renumber(number);
  }

  async #write(changed: Omit<JournalIdentity, "life" | "home" | "postgres">): Promise<void> {
    const { folder, postgres, log } = this.#options;
    const identity = { ...changed, postgres, life: this.#identity.life + 1, home: this.#home };
    const isSame = this.#identity.database === changed.database;
    await writeIdentity(folder, identity).catch((thrown: unknown) => {
      // On a full disk the flush must begin, as it makes room, and the next start decides again; except for
      // another database, whose projects have the same numbers.
      if (!isSame || !isFull(thrown)) throw thrown;
      log.warn("the disk is full: the journal's identity could not be written", { folder });
    });
    this.#identity = identity;
  }
}

const aliveAgainMs = 250;

async function firstIdentity({ sql, folder, postgres }: PairOptions): Promise<JournalIdentity> {
  const [name, holder] = [newUuid(), newUuid()];
  const home = homeOf(dirname(folder));
  const { number, database } = await registerJournal(sql, { name, holder }, ownProcess(home));
  // They may be another database's.
  forgetKeys(folder);
  const identity = { name, number, database, postgres, holder, earlier: "", life: 1, renamed: "", home };
  await writeIdentity(folder, identity);
  return identity;
}

function ownProcess({ host, path }: Home): Process {
  return { knows: knownMigrations(), location: `${host}:${path}` };
}

/** A newer version did not see this process, or did not wait for it: it was unreachable for long, or just starting. */
function outlived(): UserError {
  return new UserError(
    "a newer version has changed the stores in a way that this one cannot go on beside; run that version: what was " +
      "captured is kept in the journal",
  );
}

/** Keys saved beside a journal belong to its database, as do the numbers of their projects. */
function forgetKeys(folder: string): void {
  rmSync(`${folder}/keys.json`, { force: true });
}

/** The journal holds events of another database's projects; `before` is where that database was. */
function foreignPair(folder: string, pending: Pending, before: string, postgres: string): UserError {
  const setting = before === embeddedAddress ? "DATABASE_URL unset" : "that DATABASE_URL";
  return new UserError(
    `${countOf(pending)} in ${folder} wait for the Postgres they were captured with (${placeOf(before)}), and ` +
      `${placeOf(postgres)} is another one; start once with ${setting} until they are flushed, ` +
      `or move ${folder} away to go on without them`,
  );
}

/** The journal holds events that a running process flushes as well. */
function livingTwin(folder: string, pending: Pending, home: Home): UserError {
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

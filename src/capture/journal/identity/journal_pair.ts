// The pair of a journal and the database that numbered it. At each start, or as soon as the database answers, decides
// whether the two still belong together; no watermark is published and nothing is flushed before that.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { withinMs } from "../../../core/deadline.ts";
import { UserError } from "../../../core/fault.ts";
import { newUuid } from "../../../core/id.ts";
import { journalLimits } from "../limits.ts";
import { limits } from "../../../core/limits.ts";
import { type Log, reasonOf } from "../../../core/log.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { isFull } from "../segments/files.ts";
import { type Home, homeOf, isElsewhere, isStillThere } from "./journal_home.ts";
import { type JournalIdentity, mendIdentity, writeIdentity } from "./journal_identity.ts";
import {
  type Registration,
  claimJournal,
  leaveJournals,
  publishWatermark,
  readRegistration,
  registerJournal,
} from "./store.ts";
import type { Pending } from "../journal_room.ts";
import {
  type KnownJournal,
  type PairStanding,
  foreignPair,
  livingTwin,
  pairStandingOf,
} from "./journal_standing.ts";

export interface PairOptions {
  sql: Postgres;
  /** The journal's own folder. */
  folder: string;
  /** Where the database is, as databaseOf() says. */
  postgres: string;
  clock: Clock;
  log: Log;
}

/** The part of a journal that its pair needs. */
export interface Paired {
  pending(): Pending;
  watermark(): number;
  renumber(number: number): void;
}

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
  readonly #options: PairOptions;
  readonly #home: Home;
  readonly #verified = Promise.withResolvers<void>();
  readonly #broken = Promise.withResolvers<UserError>();
  #identity: JournalIdentity;
  /** Whether journal and database are known to belong together. */
  #isVerified: boolean;
  #isBroken = false;
  /** The database's answer at the start; undefined without one. */
  #registration: Registration | undefined;
  /** Whether a running process holds the journal that this one was a copy of. */
  #isTwin = false;

  constructor(options: PairOptions, identity: JournalIdentity, isVerified: boolean) {
    this.#options = options;
    this.#identity = identity;
    this.#home = homeOf(dirname(options.folder));
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

  /** Whether the database has answered and is another one than the journal's. */
  get isForeign(): boolean {
    return this.#registration !== undefined && this.#registration.database !== this.database;
  }

  /** Whether the original's processes may still use the registrations of journals that were copied with this one. */
  get isTwin(): boolean {
    return this.#isTwin;
  }

  /** Where the folder was at its last use; undefined when it is the same. */
  get copiedFrom(): (Home & { stillThere: boolean }) | undefined {
    const before = this.#identity.home;
    if (!isElsewhere(before, this.#home)) return undefined;
    return { ...before, stillThere: isStillThere(before) };
  }

  get #known(): KnownJournal {
    return { identity: this.#identity, home: this.#home };
  }

  /** Asks the database, if it answers. */
  async look(): Promise<void> {
    const { sql, log } = this.#options;
    try {
      this.#registration = await withinMs(readRegistration(sql, this.#identity), limits.healthMsMax);
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
    const { name, number, holder, database } = this.#identity;
    const told = await publishWatermark(
      sql,
      { name, number, holder, database },
      journal.watermark(),
      clock.now(),
    );
    if (!told) await this.#decideLater(journal, "running");
  }

  /** Removes the journal's registration: exports do not wait for it any more. */
  async leave(): Promise<void> {
    const { name, holder } = this.#identity;
    if (this.#isVerified && !this.#isBroken) await leaveJournals(this.#options.sql, name, holder);
  }

  async #decideLater(journal: Paired, when: "late" | "running"): Promise<void> {
    try {
      const registration = await readRegistration(this.#options.sql, this.#identity);
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
      const standing = await pairStandingOf(this.#known, registration, this.#options);
      const isDone = await this.#act(standing, registration, journal, when);
      if (isDone) {
        this.#isVerified = true;
        this.#verified.resolve();
        return;
      }
      // Another process claimed it in between.
      registration = await readRegistration(this.#options.sql, this.#identity);
    }
    throw new Error("others claim the same journal");
  }

  /** Resolves to false when the standing must be determined again. */
  async #act(
    standing: PairStanding,
    { database, row }: Registration,
    journal: Paired,
    when: "start" | "late" | "running",
  ): Promise<boolean> {
    const { log, postgres } = this.#options;
    const pending = journal.pending();
    if (standing === "ours") return await this.#claim(database, row);
    if (standing === "foreign") {
      // After the start, keys of the other database are in memory: ends the process even if nothing waits.
      if (pending.bytes > 0 || pending.events > 0 || when !== "start")
        throw foreignPair({
          folder: this.#options.folder,
          pending,
          before: this.#identity.postgres,
          postgres,
        });
      await this.#renew(journal, true);
      const before = this.#identity.renamed;
      const text =
        "the journal was used with another Postgres: it got a new number, and keys of the old one end";
      log.warn(text, { postgres, journal_before: before });
      return true;
    }
    this.#isTwin = standing === "copy";
    const isPending = pending.bytes > 0 || pending.events > 0;
    if (standing === "copy" && isPending && when !== "running")
      throw livingTwin({ folder: this.#options.folder, pending, home: this.#identity.home });
    await this.#renew(journal, false);
    log.warn(
      standing === "copy"
        ? "DATA_DIR is a copy of a folder whose server is running: its journal got a number of its own"
        : "the journal's number is another's by now: it got a new one",
      this.#whereabouts(),
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
    return await claimJournal(sql, { name, number, holder }, row);
  }

  /** Gives the journal a new name and number, for what is captured from now on. */
  async #renew(journal: Paired, isForeign: boolean): Promise<void> {
    const { sql, folder } = this.#options;
    const [name, holder] = [newUuid(), newUuid()];
    const { number, database } = await registerJournal(sql, { name, holder });
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

  #whereabouts(): Record<string, unknown> {
    const { path, host } = this.#identity.home;
    return { folder: dirname(this.#options.folder), path, host, number: this.#identity.number };
  }
}

async function firstIdentity({ sql, folder, postgres }: PairOptions): Promise<JournalIdentity> {
  const [name, holder] = [newUuid(), newUuid()];
  const { number, database } = await registerJournal(sql, { name, holder });
  // They may be another database's.
  forgetKeys(folder);
  const home = homeOf(dirname(folder));
  const identity = { name, number, database, postgres, holder, earlier: "", life: 1, renamed: "", home };
  await writeIdentity(folder, identity);
  return identity;
}

/** Keys saved beside a journal belong to its database, as do the numbers of their projects. */
function forgetKeys(folder: string): void {
  rmSync(`${folder}/keys.json`, { force: true });
}

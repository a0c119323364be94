// The pair of a journal and the database that numbered it. Decides at each start, or as soon as the database answers,
// whether the two still belong together; nothing is told or flushed before that.

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
import { type Bond, type JournalIdentity, mendIdentity, writeIdentity } from "./journal_identity.ts";
import {
  type Registration,
  claimJournal,
  leaveJournals,
  publishWatermark,
  readRegistration,
  registerJournal,
} from "./store.ts";
import type { Pending } from "../journal_room.ts";
import { type KnownJournal, type PairStanding, isOfAnother, pairStandingOf } from "./journal_standing.ts";
import { foreignPair, livingTwin } from "./pair_refusal.ts";

export interface PairOptions {
  sql: Postgres;
  /** The journal's own folder. */
  folder: string;
  /** Where the database is, as `postgresPlace` tells it. */
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
  /** When this process's watermarks count. */
  #isVerified: boolean;
  #isBroken = false;
  /** What the database said at the start; undefined while it does not answer. */
  #registration: Registration | undefined;
  /** Whether a living process holds the journal that this one was a copy of. */
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

  /** The id of the database whose projects the journal's events are of; undefined while it was never known. */
  get database(): string | undefined {
    return this.#identity.bond?.database;
  }

  /** Resolves when journal and database are known to belong together. */
  get verified(): Promise<void> {
    return this.#verified.promise;
  }

  /** Resolves to the reason when they are found not to, after the start. */
  get broken(): Promise<UserError> {
    return this.#broken.promise;
  }

  /** Whether the database has answered and is another one than the journal's. */
  get isForeign(): boolean {
    return (
      this.#registration !== undefined &&
      isOfAnother(this.#identity, this.#registration, this.#options.postgres)
    );
  }

  /** Whether others may still need the registrations of journals that were copied along with this one. */
  get isTwin(): boolean {
    return this.#isTwin;
  }

  /** Where the folder was when it was last used, if it is another one now. */
  get copiedFrom(): (Home & { stillThere: boolean }) | undefined {
    const before = this.#identity.bond?.home;
    if (!before || !isElsewhere(before, this.#home)) return undefined;
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
   * Decides with what the database said at the start; without that it is decided later.
   * @throws UserError when events wait that are not this database's, or that another process has, too.
   */
  async settle(journal: Paired): Promise<void> {
    if (this.#isVerified || !this.#registration) return;
    await this.#decide(journal, this.#registration, "start").catch((thrown: unknown) => {
      if (thrown instanceof UserError) throw thrown;
      this.#options.log.warn("the journal's number is not confirmed yet", { reason: reasonOf(thrown) });
    });
  }

  /** Tells how far the journal has come; decides first, if that is still to be done. */
  async publish(journal: Paired): Promise<void> {
    if (this.#isBroken) return;
    const { sql, clock } = this.#options;
    if (!this.#isVerified) await this.#decideLater(journal, "late");
    const { name, number, bond } = this.#identity;
    const { holder, database } = bond!;
    const told = await publishWatermark(
      sql,
      { name, number, holder, database },
      journal.watermark(),
      clock.now(),
    );
    if (!told) await this.#decideLater(journal, "running");
  }

  /** Nobody has to wait for this journal any more. */
  async leave(): Promise<void> {
    const { name, bond } = this.#identity;
    if (this.#isVerified && !this.#isBroken) await leaveJournals(this.#options.sql, name, bond?.holder);
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
      // Somebody else claimed it in between.
      registration = await readRegistration(this.#options.sql, this.#identity);
    }
    throw new Error("others claim the same journal");
  }

  /** Resolves to false when it has to be decided anew. */
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
      // Captured meanwhile or not: keys of the other database are in memory.
      if (pending.bytes > 0 || pending.events > 0 || when !== "start")
        throw foreignPair({ folder: this.#options.folder, pending, bond: this.#identity.bond, postgres });
      await this.#renew(journal, true);
      const before = this.#identity.bond?.renamed;
      const text =
        "the journal was used with another Postgres: it got a new number, and keys of the old one end";
      log.warn(text, { postgres, journal_before: before });
      return true;
    }
    this.#isTwin = standing === "copy";
    const isPending = pending.bytes > 0 || pending.events > 0;
    if (standing === "copy" && isPending && when !== "running")
      throw livingTwin({
        folder: this.#options.folder,
        pending,
        home: this.#identity.bond?.home ?? this.#home,
      });
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
    const { name, number, bond } = this.#identity;
    const holder = newUuid();
    const earlier = row?.holder ?? bond?.holder ?? "";
    // First beside the journal: a process that dies in between must know its own claim again.
    await this.#write({ name, number }, { database, holder, earlier, renamed: bond?.renamed ?? "" });
    return await claimJournal(sql, { name, number, holder }, row);
  }

  /** A new name and number, for what is captured from now on. */
  async #renew(journal: Paired, isForeign: boolean): Promise<void> {
    const { sql, folder } = this.#options;
    const [name, holder] = [newUuid(), newUuid()];
    const { number, database } = await registerJournal(sql, { name, holder });
    if (isForeign) forgetKeys(folder);
    const renamed = this.#identity.name;
    await this.#write({ name, number }, { database, holder, earlier: "", renamed });
    journal.renumber(number);
  }

  async #write(
    named: Pick<JournalIdentity, "name" | "number">,
    tie: Omit<Bond, "life" | "home" | "postgres">,
  ): Promise<void> {
    const { folder, postgres, log } = this.#options;
    const life = (this.#identity.bond?.life ?? 0) + 1;
    const identity = { ...named, bond: { ...tie, postgres, life, home: this.#home } };
    const isSame = (this.#identity.bond?.database ?? tie.database) === tie.database;
    await writeIdentity(folder, identity).catch((thrown: unknown) => {
      // The flush must begin, since it makes room. The next start decides anew; not so with another database.
      if (!isSame || !isFull(thrown)) throw thrown;
      log.warn("the disk is full: the journal's identity could not be written", { folder });
    });
    this.#identity = identity;
  }

  #whereabouts(): Record<string, unknown> {
    const { path, host } = this.#identity.bond?.home ?? this.#home;
    return { folder: dirname(this.#options.folder), path, host, number: this.#identity.number };
  }
}

async function firstIdentity({ sql, folder, postgres }: PairOptions): Promise<JournalIdentity> {
  const [name, holder] = [newUuid(), newUuid()];
  const { number, database } = await registerJournal(sql, { name, holder });
  // Of which database they are cannot be known.
  forgetKeys(folder);
  const home = homeOf(dirname(folder));
  const tie = { database, postgres, holder, earlier: "", life: 1, renamed: "", home };
  const identity = { name, number, bond: tie };
  await writeIdentity(folder, identity);
  return identity;
}

/** Keys saved beside a journal are of its database, and so are the numbers of their projects. */
function forgetKeys(folder: string): void {
  rmSync(`${folder}/keys.json`, { force: true });
}

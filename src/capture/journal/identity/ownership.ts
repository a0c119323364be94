// Whose a journal is: the database that numbered it, and the process that holds it. A copy whose original is in use is
// refused before anything of it is written. All else is decided at the start, or as soon as the database answers; no
// watermark is published and nothing is flushed before that.

import { dirname } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { withinMs } from "../../../core/deadline.ts";
import { UserError } from "../../../core/fault.ts";
import { limits } from "../../../core/limits.ts";
import { reasonOf } from "../../../core/log.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import type { Pending, Watermarks } from "../figures.ts";
import { type Home, homeOf, type JournalIdentity, repairIdentity } from "./journal_identity.ts";
import { fenced, foreign, logCopy, twoInUse } from "./refusals.ts";
import { isPublished, registerAnew, type RegistrationOptions, writeClaim } from "./registration.ts";
import {
  claimJournal,
  isClaimedByOther,
  leaveJournals,
  type Process,
  publishWatermarks,
  readRegistration,
  type Registration,
  thisProcess,
} from "./store.ts";

type OwnershipOptions = RegistrationOptions & { clock: Clock };

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
  const known = await repairIdentity(options.folder, options.log);
  if (!known) return new JournalOwnership(options, await registerAnew(options), true);
  const ownership = new JournalOwnership(options, known, false);
  await ownership.readDatabase();
  return ownership;
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
    this.#process = thisProcess(this.#home);
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

  /** Whether the folder is another one than at its last use, or a copy of it. */
  get #isElsewhere(): boolean {
    return this.#identity.home.inodes !== this.#home.inodes;
  }

  /** Logs that the folder was copied or moved since its last use. */
  logCopy(): void {
    if (this.#isElsewhere) logCopy(this.#options, this.#identity.home);
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
    if (!isShared || !row || !(this.#isElsewhere || isClaimedByOther(this.#identity, row))) return;
    const inUse = await isPublished(() => this.#read(), row.seen).catch((thrown: unknown) => {
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
    const watermarks = journal.watermarks();
    const isPublished = await publishWatermarks(sql, this.#identity, this.#process, watermarks, clock.now());
    if (!isPublished) await this.#decideLater(journal);
  }

  /** Removes the journal's registration: exports do not wait for it any more. */
  async leave(): Promise<void> {
    if (this.#isVerified && !this.isBroken) await leaveJournals(this.#options.sql, this.#identity);
  }

  #read(): Promise<Registration> {
    return readRegistration(this.#options.sql, this.#identity, this.#process);
  }

  /** Whether another process has claimed the journal and still runs, while events wait here: this folder is a copy. */
  async #isCopy({ row }: Registration, journal: OwnedJournal): Promise<boolean> {
    if (this.#isVerified || this.#options.postgres === embeddedAddress) return false;
    if (!row || !isClaimedByOther(this.#identity, row) || journal.pending().bytes === 0) return false;
    return await isPublished(() => this.#read(), row.seen);
  }

  async #decideLater(journal: OwnedJournal): Promise<void> {
    try {
      const registration = await this.#read();
      const isCopy = await this.#isCopy(registration, journal);
      if (isCopy) throw twoInUse(this.#options.folder, this.#identity.home);
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
    } else if (isTaken || (row?.number ?? number) !== number || isClaimedByOther(this.#identity, row)) {
      await this.#renew(journal);
      const about = { folder: dirname(folder), number: this.number };
      log.warn("another journal uses this one's number: it got a new one", about);
    } else await this.#claim(row);
    this.#isVerified = true;
    this.#verified.resolve();
  }

  async #claim(row: Registration["row"]): Promise<void> {
    this.#identity = await writeClaim(this.#options, this.#identity, this.#home, row);
    const isClaimed = await claimJournal(this.#options.sql, this.#identity, this.#process, row);
    if (!isClaimed) throw new Error("another process claimed it");
  }

  /** Registers the journal under a new name and number, for what is captured from now on. */
  async #renew(journal: OwnedJournal): Promise<void> {
    this.#identity = await registerAnew(this.#options, this.#identity, true);
    journal.renumber(this.#identity.number);
  }
}

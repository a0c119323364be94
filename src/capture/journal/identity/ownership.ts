// Whose a journal is: the database that numbered it, and the process that holds it. A copy whose original is in use is
// refused before anything of it is written. This is decided at the start, or as soon as the database answers; no
// watermark is published and nothing is flushed before that.

import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { sleep, withinMs } from "../../../core/clock.ts";
import { UserError } from "../../../core/fault.ts";
import { newUuid } from "../../../core/id.ts";
import { limits } from "../../../core/limits.ts";
import { toReason } from "../../../core/log.ts";
import { newerRemedy } from "../../../core/version.ts";
import { embeddedAddress } from "../../../storage/embedded/connection.ts";
import { otherPostgres } from "../../../storage/identity.ts";
import { knownMigrations } from "../../../storage/migrations/files.ts";
import type { Uses } from "../../../storage/services.ts";
import type { Journal } from "../journal.ts";
import { isFull } from "../journal_io.ts";
import { journalLimits } from "../limits.ts";
import { type JournalIdentity, readHome, readJournalIdentity, writeIdentity } from "./journal_identity.ts";
import {
  claimJournal,
  leaveJournals,
  type Process,
  publishWatermarks,
  readRegistration,
  registerJournal,
  type Registration,
} from "./store.ts";

interface OwnershipOptions extends Uses<"sql" | "clock" | "log"> {
  folder: string;
  /** Address of the database, as nameDatabase() returns it. */
  postgres: string;
}

type RegistrationOptions = Omit<OwnershipOptions, "clock">;
type OwnedJournal = Pick<Journal, "watermarks">;

/**
 * @throws UserError for a journal of another database, or a copy whose original is in use, with nothing written; any
 *   other error when Postgres does not answer at the first start of a journal, or of a folder that was copied or moved.
 */
export async function openOwnership(options: OwnershipOptions): Promise<JournalOwnership> {
  const known = readJournalIdentity(options.folder);
  if (!known) return new JournalOwnership(options, await registerAnew(options), true);
  const ownership = new JournalOwnership(options, known, false);
  await ownership.settle();
  return ownership;
}

export class JournalOwnership {
  readonly #options: OwnershipOptions;
  readonly #home: JournalIdentity["home"];
  readonly #process: Process;
  readonly #verified = Promise.withResolvers<void>();
  readonly #broken = Promise.withResolvers<UserError>();
  /** Resolves when journal and database are known to belong together. */
  readonly verified = this.#verified.promise;
  /** Resolves to the reason when these, or ClickHouse, are found not to belong together, after the start. */
  readonly broken = this.#broken.promise;
  /** Whether they were found not to belong together, so that nothing more may be flushed. */
  isBroken = false;
  #identity: JournalIdentity;
  #isVerified = false;
  #publishing: Promise<void> | undefined;

  constructor(options: OwnershipOptions, identity: JournalIdentity, isVerified: boolean) {
    this.#options = options;
    this.#identity = identity;
    this.#home = readHome(dirname(options.folder));
    this.#process = readProcess(this.#home);
    if (isVerified) this.#confirm();
  }

  get number(): number {
    return this.#identity.number;
  }

  /** The id of the database whose projects the journal's events are of. */
  get database(): string {
    return this.#identity.database;
  }

  /** Whether the folder is another one than at its last use, or a copy; no other server reaches embedded stores. */
  get #isElsewhere(): boolean {
    return this.#options.postgres !== embeddedAddress && this.#identity.home.inodes !== this.#home.inodes;
  }

  /** Decides with the database's answer; without one, publish() decides later. @throws as openOwnership() does. */
  async settle(): Promise<void> {
    try {
      await this.#decide(await withinMs(this.#read(), limits.healthMsMax));
    } catch (thrown) {
      // A copy captures nothing before it is known that its original is not in use.
      if (thrown instanceof UserError || this.#isElsewhere) throw thrown;
      this.#options.log.warn("the journal's number is not confirmed yet", { reason: toReason(thrown) });
    }
  }

  /**
   * Publishes the journal's watermark; decides first, if settle() could not. Then removes the registrations of journals
   * that it adopted.
   */
  publish(journal: OwnedJournal, adopted: JournalIdentity[] = []): Promise<void> {
    // One at a time: each may have to claim the journal.
    return (this.#publishing ??= this.#publish(journal, adopted).finally(
      () => (this.#publishing = undefined),
    ));
  }

  async #publish(journal: OwnedJournal, adopted: JournalIdentity[]): Promise<void> {
    const { sql, clock } = this.#options;
    if (this.isBroken) return;
    if (!this.#isVerified) await this.#decideLater();
    const watermarks = journal.watermarks();
    const isPublished = await publishWatermarks(sql, this.#identity, this.#process, watermarks, clock.now());
    if (!isPublished) await this.#decideLater();
    for (; adopted.length > 0; adopted.pop()) await leaveJournals(sql, adopted.at(-1)!);
  }

  /** Ends the process: from now on nothing is flushed. */
  readonly end = (reason: UserError): void => {
    this.isBroken = true;
    this.#broken.resolve(reason);
  };

  /** Removes the journal's registration: exports do not wait for it any more. */
  async leave(): Promise<void> {
    if (this.#isVerified && !this.isBroken) await leaveJournals(this.#options.sql, this.#identity);
  }

  #read(): Promise<Registration> {
    return readRegistration(this.#options.sql, this.#identity, this.#process);
  }

  async #decideLater(): Promise<void> {
    try {
      await this.#decide(await this.#read());
    } catch (thrown) {
      if (thrown instanceof UserError) this.end(thrown);
      throw thrown;
    }
  }

  /** @throws UserError when they do not belong together; any other error when it is to be tried again. */
  async #decide({ database, row, isTaken, isFenced }: Registration): Promise<void> {
    const { number, postgres, holder, earlier } = this.#identity;
    if (isFenced) throw fenced();
    if (database !== this.database) throw otherPostgres(postgres);
    const isClaimed = row !== null && ![null, holder, earlier].includes(row.holder);
    const isOthers = isTaken || isClaimed || (row ?? this).number !== number;
    const mayBeCopy = row && this.#isElsewhere && !this.#isVerified;
    if (isOthers || (mayBeCopy && (await isPublished(() => this.#read(), row.seen)))) throw this.#twoInUse();
    await this.#claim(row);
    this.#confirm();
  }

  /** The operator decides which of the two gets the journal. */
  #twoInUse(): UserError {
    const { home, number } = this.#identity;
    return new UserError(
      `${dirname(this.#options.folder)} has the same journal (${number}) as another server, or an older state of it ` +
        `(it was last used at ${home.path} on ${home.host}): stop that server, or restore what is older; or create a ` +
        "journal for this copy with: bun run sluice journal adopt",
    );
  }

  #confirm(): void {
    this.#isVerified = true;
    this.#verified.resolve();
  }

  /** Written beside the journal first: after a crash in between the next start must recognize its own claim. */
  async #claim(row: Registration["row"]): Promise<void> {
    const { sql, folder, postgres, log } = this.#options;
    const earlier = row?.holder ?? this.#identity.holder;
    const claimed = { ...this.#identity, postgres, holder: newUuid(), earlier, home: this.#home };
    try {
      await writeIdentity(folder, claimed);
      this.#identity = claimed;
    } catch (thrown) {
      // The flush must begin, since it frees space: the process stays the holder that the file names.
      if (!isFull(thrown)) throw thrown;
      log.warn("the disk is full: the journal's identity could not be written", { folder });
    }
    if (!(await claimJournal(sql, this.#identity, this.#process, row)))
      throw new Error("another process claimed it");
  }
}

function readProcess({ host, path }: JournalIdentity["home"]): Process {
  return { knows: knownMigrations(), location: `${host}:${path}` };
}

/** A newer version did not see this process, or did not wait for it: it was unreachable for long, or just starting. */
function fenced(): UserError {
  return new UserError(
    `a newer version has changed the stores; what was captured is kept in the journal: ${newerRemedy}`,
  );
}

/** Registers a journal under a new name and number. @param before its identity until now, if it has one. */
async function registerAnew(
  { sql, folder, postgres }: RegistrationOptions,
  before?: JournalIdentity,
): Promise<JournalIdentity> {
  const [name, holder, home] = [newUuid(), newUuid(), readHome(dirname(folder))];
  const { number, database } = await registerJournal(sql, { name, holder }, readProcess(home));
  // Keys saved beside a journal belong to its database, as do the numbers of their projects.
  if (database !== before?.database) rmSync(`${folder}/keys.json`, { force: true });
  const identity = { name, number, database, postgres, holder, earlier: "", home };
  await writeIdentity(folder, identity).catch(async (thrown: unknown) => {
    // No process will publish under this name: exports and deletions would wait for it.
    await leaveJournals(sql, identity).catch(() => undefined);
    throw thrown;
  });
  return identity;
}

/**
 * Registers a journal of a copied folder, or of other stores, under a new name and number. Pending events stay: the
 * next start checks each batch before it sends it. Returns the numbers before and after; undefined without a journal.
 */
export async function adoptJournal(
  options: RegistrationOptions,
): Promise<{ before: number; number: number } | undefined> {
  const { sql, folder } = options;
  const before = readJournalIdentity(folder);
  if (!before) return undefined;
  const { number } = await registerAnew(options, before);
  // In a folder that was adopted before, or is the original: no process publishes under the name any more.
  if (before.home.inodes === readHome(dirname(folder)).inodes) await leaveJournals(sql, before);
  return { before: before.number, number };
}

/** Whether some process publishes the journal's watermark right now. */
async function isPublished(read: () => Promise<Registration>, seen: string | null): Promise<boolean> {
  await sleep(journalLimits.journalAliveMs);
  const { row } = await withinMs(read(), limits.healthMsMax);
  return row !== null && row.seen !== seen;
}

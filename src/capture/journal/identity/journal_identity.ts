// The identity of a journal: its name and number among all journals that feed the same ClickHouse, and the database and
// folder they belong to. It is kept beside the journal in two files, so that one may be damaged or torn. A copied
// folder is recognized by its inodes.

import { existsSync, readFileSync, realpathSync, renameSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { UserError } from "../../../core/fault.ts";
import { readSummedJson, summedJson } from "../../../core/json/summed_json.ts";
import { type Log, reasonOf } from "../../../core/log.ts";
import { unreleasedRemedy } from "../../../core/version.ts";
import { systemIo } from "../journal_io.ts";
import { writeDurably } from "../segments/files.ts";

export interface Home {
  host: string;
  /** The real path of the folder that contains the journal's. */
  path: string;
  /** Inodes of the journal's folder and of the lock beside it: a copy has others. Devices change with every boot. */
  inodes: string;
}

export interface JournalIdentity {
  name: string;
  number: number;
  /** The id of the database that assigned the number. */
  database: string;
  /** Where that database was, without user and password: "embedded" or host:port/name. */
  postgres: string;
  /** The process that has claimed the journal, as the database knows it, and the one before. */
  holder: string;
  earlier: string;
  /** How often the identity was written: of two files that differ the one with the higher number counts. */
  life: number;
  /** The name before this one; empty when there was none. */
  renamed: string;
  home: Home;
}

/** The format of all files in a journal's folder. A release that changes one raises it. */
const journalFormat = 1;
const fileNames = ["identity.json", "identity.copy.json"] as const;
/** Paths of Linux have at most 4096 bytes. */
const textCharsMax = 4096;

interface IdentityFile {
  path: string;
  identity?: JournalIdentity;
  /** Why a file that exists has no identity. */
  problem?: string;
  /** Whether it is an identity of another format. */
  isOtherFormat?: boolean;
  isNewer?: boolean;
}

/**
 * Undefined before the journal's first start, and when both files are damaged.
 * @throws UserError when the journal has another format.
 */
export function readJournalIdentity(folder: string): JournalIdentity | undefined {
  return newestOf(readAll(folder));
}

/**
 * As readJournalIdentity(). A damaged file is logged, set aside, and written again from the other one.
 * @throws UserError also when both files are sound and of two journals.
 */
export async function repairIdentity(folder: string, log: Log): Promise<JournalIdentity | undefined> {
  const read = readAll(folder);
  const identity = newestOf(read);
  const known = read.flatMap((one) => one.identity ?? []);
  if (identity && known.some((other) => !follows(identity, other))) {
    const files = read.map(({ path }) => path).join(" and ");
    throw new UserError(`${files} are of two journals; remove the foreign one`);
  }
  for (const { path, problem } of read) {
    if (problem === undefined) continue;
    renameSync(path, `${path}.damaged`);
    const text = identity
      ? "the journal's identity is damaged; its copy was used"
      : "the journal's identity is damaged; it gets a new one, and exports wait until the old one expires";
    log.error(text, { file: path, kept: `${path}.damaged`, reason: problem });
  }
  // A process may have died between writing the two.
  const isTorn = read.some((one) => one.identity?.life !== identity?.life);
  if (identity && isTorn) await writeIdentity(folder, identity);
  return identity;
}

/** Durable, in both files, when it resolves. */
export async function writeIdentity(folder: string, identity: JournalIdentity): Promise<void> {
  for (const file of fileNames)
    await writeDurably(systemIo, `${folder}/${file}`, summedJson({ format: journalFormat, ...identity }));
}

function newestOf(read: readonly IdentityFile[]): JournalIdentity | undefined {
  const known = read.flatMap((one) => one.identity ?? []);
  return known.toSorted((a, b) => b.life - a.life)[0];
}

/** Whether `other` is of the same journal, or of the one that was renamed to it. */
function follows(newest: JournalIdentity, other: JournalIdentity): boolean {
  const isSame = newest.name === other.name && newest.number === other.number;
  return isSame || (newest.life > other.life && newest.renamed === other.name);
}

function readAll(folder: string): IdentityFile[] {
  const read = fileNames.map((file) => readOne(`${folder}/${file}`));
  const other = read.find(({ isOtherFormat }) => isOtherFormat);
  if (other && !read.some(({ identity }) => identity)) {
    const which = other.isNewer ? "a newer" : "an unreleased";
    const remedy = other.isNewer ? "run that one" : unreleasedRemedy;
    throw new UserError(`${which} version of this program wrote ${folder}: ${remedy}`);
  }
  return read;
}

function readOne(path: string): IdentityFile {
  if (!existsSync(path)) return { path };
  const text = readFileSync(path, "utf8");
  try {
    const { format, ...read } = readSummedJson(text);
    const isNewer = Number(format) > journalFormat;
    if (format !== journalFormat)
      return { path, problem: "it has another format", isOtherFormat: true, isNewer };
    return { path, identity: identityOf(read) };
  } catch (thrown) {
    // The first identities had no sum.
    const isOtherFormat = text.startsWith('{"name":') && !text.includes('"sum":');
    return { path, problem: reasonOf(thrown), isOtherFormat };
  }
}

function identityOf(read: Record<string, unknown>): JournalIdentity {
  const home = (read["home"] ?? {}) as Record<string, unknown>;
  const numbers = [read["number"], read["life"]];
  const names = ["name", "database", "postgres", "holder", "earlier", "renamed"];
  const texts = [...names.map((name) => read[name]), home["host"], home["path"], home["inodes"]];
  const isText = (text: unknown) => typeof text === "string" && text.length <= textCharsMax;
  const isWhole = numbers.every((number) => Number.isSafeInteger(number) && (number as number) > 0);
  if (!read["name"] || !isWhole || !texts.every(isText)) throw new Error("it is no journal's identity");
  return read as unknown as JournalIdentity;
}

/** The names of the journals in these folders, without those that were copied there. Their processes have ended. */
export function journalsIn(ownDirs: readonly string[]): string[] {
  return ownDirs.flatMap((ownDir) => {
    const identity = readJournalIdentity(`${ownDir}/journal`);
    return identity?.home.inodes === inodesOf(ownDir) ? [identity.name] : [];
  });
}

/** Where the journal below `ownDir` is now. */
export function homeOf(ownDir: string): Home {
  return { host: hostname(), path: realpathSync(ownDir), inodes: inodesOf(ownDir) };
}

/** Whether that folder is still where it was, on this machine. */
export function isStillThere(home: Home): boolean {
  return home.host === hostname() && inodesOf(home.path) === home.inodes;
}

function inodesOf(ownDir: string): string {
  const paths = [`${ownDir}/journal`, `${ownDir}/lock`];
  return paths.map((path) => (existsSync(path) ? statSync(path, { bigint: true }).ino : 0n)).join(" ");
}

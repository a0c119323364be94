// Who a journal is among all that feed the same ClickHouse: its name and number, and of which database they are; beside
// it in two files, so that one that was damaged or torn costs nothing.

import { existsSync, readFileSync, renameSync } from "node:fs";
import { UserError } from "../../../core/fault.ts";
import { type Log, reasonOf } from "../../../core/log.ts";
import { readSummedJson, summedJson } from "../../../core/json/summed_json.ts";
import { writeDurably } from "../segments/files.ts";
import type { Home } from "./journal_home.ts";

export interface JournalIdentity {
  name: string;
  number: number;
  /** What an earlier version did not write. */
  bond?: Bond;
}

/** What ties a journal to a database and a folder. */
export interface Bond {
  /** The id of the database that handed out the number. */
  database: string;
  /** Where that database was, without user and password: "embedded" or host:port/name. */
  postgres: string;
  /** The process that holds the journal, as the database knows it, and the one before. */
  holder: string;
  earlier: string;
  /** How often this was written: of two files that differ the newer one counts. */
  life: number;
  /** The name before this one, if it was another. */
  renamed: string;
  home: Home;
}

const fileNames = ["identity.json", "identity.copy.json"] as const;
/** Longer ones were never written. */
const nameCharsMax = 100;
/** Paths of Linux have at most 4096 bytes. */
const textCharsMax = 4096;

interface Read {
  path: string;
  identity?: JournalIdentity;
  /** Why a file that is there says none. */
  wrong?: string;
}

/** Undefined before the journal's first start, and when none of its files can be read. */
export function readJournalIdentity(folder: string): JournalIdentity | undefined {
  return newestOf(readAll(folder));
}

/**
 * The same; what cannot be read is told, set aside, and written again where the other file is whole.
 * @throws UserError when both can be read and are of two journals.
 */
export async function mendIdentity(folder: string, log: Log): Promise<JournalIdentity | undefined> {
  const read = readAll(folder);
  const identity = newestOf(read);
  const known = read.flatMap((one) => one.identity ?? []);
  if (identity && known.some((other) => !follows(identity, other))) {
    const files = read.map(({ path }) => path).join(" and ");
    throw new UserError(`${files} are of two journals; remove the one that came from elsewhere`);
  }
  for (const { path, wrong } of read) {
    if (wrong === undefined) continue;
    renameSync(path, `${path}.damaged`);
    const text = identity
      ? "the journal's identity is damaged; its copy was used"
      : "the journal's identity is damaged; it gets a new one, and exports wait until the old one is given up";
    log.error(text, { file: path, kept: `${path}.damaged`, reason: wrong });
  }
  // An earlier version wrote one file, without a sum; a process may have died between the two.
  const isTorn = read.some((one) => !one.identity || lifeOf(one.identity) !== lifeOf(identity));
  if (identity && isTorn) await writeIdentity(folder, identity);
  return identity;
}

/** Durable, in both files, when it resolves. */
export async function writeIdentity(folder: string, { name, number, bond }: JournalIdentity): Promise<void> {
  for (const file of fileNames)
    await writeDurably(`${folder}/${file}`, summedJson({ name, number, ...bond }));
}

function newestOf(read: readonly Read[]): JournalIdentity | undefined {
  const known = read.flatMap((one) => one.identity ?? []);
  return known.reduce<JournalIdentity | undefined>(
    (newest, one) => (newest === undefined || lifeOf(one) > lifeOf(newest) ? one : newest),
    undefined,
  );
}

/** Whether `other` is the same, or what was written before it. */
function follows(newest: JournalIdentity, other: JournalIdentity): boolean {
  const isSame = newest.name === other.name && newest.number === other.number;
  return isSame || (lifeOf(newest) > lifeOf(other) && newest.bond?.renamed === other.name);
}

function lifeOf(identity: JournalIdentity | undefined): number {
  return identity?.bond?.life ?? 0;
}

function readAll(folder: string): Read[] {
  return fileNames.map((file) => readOne(`${folder}/${file}`));
}

function readOne(path: string): Read {
  if (!existsSync(path)) return { path };
  try {
    const read = readSummedJson(readFileSync(path, "utf8"));
    const { name, number } = read;
    const isName = typeof name === "string" && name.length > 0 && name.length <= nameCharsMax;
    const isNumber = typeof number === "number" && Number.isSafeInteger(number) && number > 0;
    if (!isName || !isNumber) throw new Error("it is no journal's identity");
    const bond = readBond(read);
    return { path, identity: { name, number, ...(bond && { bond }) } };
  } catch (thrown) {
    return { path, wrong: reasonOf(thrown) };
  }
}

/** Undefined where an earlier version wrote none. */
function readBond(read: Record<string, unknown>): Bond | undefined {
  const { database, life, home } = read;
  if (database === undefined) return undefined;
  if (typeof life !== "number" || !Number.isSafeInteger(life)) throw new Error("it has no life");
  if (typeof home !== "object" || home === null) throw new Error("it has no home");
  const { host, path, inodes } = home as Record<string, unknown>;
  return {
    database: textOf(database),
    postgres: textOf(read["postgres"]),
    holder: textOf(read["holder"]),
    earlier: textOf(read["earlier"]),
    life,
    renamed: textOf(read["renamed"]),
    home: { host: textOf(host), path: textOf(path), inodes: textOf(inodes) },
  };
}

function textOf(value: unknown): string {
  if (typeof value !== "string" || value.length > textCharsMax)
    throw new Error("it has no text where one is");
  return value;
}

// The identity of a journal: its name and number among all journals that feed the same ClickHouse, and the database and
// folder they belong to. A copied folder is recognized by its inodes.

import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { UserError } from "../../../core/fault.ts";
import { toMembers } from "../../../core/json/dictionary.ts";
import { readSummedJson, summedJson } from "../../../core/json/summed_json.ts";
import { toReason } from "../../../core/log.ts";
import { newerRemedy } from "../../../core/version.ts";
import { systemIo, writeDurably } from "../journal_io.ts";

export interface JournalIdentity {
  name: string;
  number: number;
  database: string;
  /** Address of that database, without user and password: "embedded" or host:port/name. */
  postgres: string;
  /** The process that has claimed the journal, as the database knows it, and the one before. */
  holder: string;
  earlier: string;
  home: {
    host: string;
    /** The real path of the folder that contains the journal's. */
    path: string;
    /** Inodes of the journal's folder and of the lock beside it: a copy has others. Devices change with every boot. */
    inodes: string;
  };
}

/** The format of all files in a journal's folder. A release that changes one raises it. */
const journalFormat = 1;
/** Paths of Linux have at most 4096 bytes. */
const textCharsMax = 4096;

/**
 * Undefined before the journal's first start.
 * @throws UserError when the journal has another format, or the file is damaged.
 */
export function readJournalIdentity(folder: string): JournalIdentity | undefined {
  const path = buildPath(folder);
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, "utf8");
  try {
    const { format, ...identity } = readSummedJson(text);
    if (Number(format) > journalFormat)
      throw new UserError(`a newer version of this program wrote ${folder}: ${newerRemedy}`);
    if (format !== journalFormat || !isWhole(identity)) throw new Error("it is no journal's identity");
    return identity as unknown as JournalIdentity;
  } catch (thrown) {
    if (thrown instanceof UserError) throw thrown;
    throw new UserError(
      `${path} is damaged (${toReason(thrown)}), so the journal's stores are unknown; check the disk and restore ` +
        `the file, or go on with these stores: mv ${path} ${path}.damaged`,
    );
  }
}

function isWhole(identity: Record<string, unknown>): boolean {
  const { name, number, database, postgres, holder, earlier } = identity;
  const { host, path, inodes } = toMembers(identity["home"]);
  const texts = [name, database, postgres, holder, earlier, host, path, inodes];
  const isText = (text: unknown) => typeof text === "string" && text.length <= textCharsMax;
  return name !== "" && Number.isSafeInteger(number) && (number as number) > 0 && texts.every(isText);
}

/** Durable when it resolves. */
export async function writeIdentity(folder: string, identity: JournalIdentity): Promise<void> {
  await writeDurably(systemIo, buildPath(folder), summedJson({ format: journalFormat, ...identity }));
}

function buildPath(folder: string): string {
  return `${folder}/identity.json`;
}

/** The names of the journals in these folders, without those that were copied there. Their processes have ended. */
export function journalsIn(ownDirs: readonly string[]): string[] {
  return ownDirs.flatMap((ownDir) => {
    const identity = readJournalIdentity(`${ownDir}/journal`);
    return identity?.home.inodes === readHome(ownDir).inodes ? [identity.name] : [];
  });
}

/** Reads the present place of the journal below `ownDir`. */
export function readHome(ownDir: string): JournalIdentity["home"] {
  const paths = [`${ownDir}/journal`, `${ownDir}/lock`];
  const inodes = paths
    .map((path) => (existsSync(path) ? statSync(path, { bigint: true }).ino : 0n))
    .join(" ");
  return { host: hostname(), path: existsSync(ownDir) ? realpathSync(ownDir) : "", inodes };
}

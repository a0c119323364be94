// The lock of a DATA_DIR: one process owns it. The lock is the operating system's and ends with its holder.

import { Database } from "bun:sqlite";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { UserError } from "../core/fault.ts";
import { toCode, toReason } from "../core/log.ts";
import { removeConnection } from "./embedded/connection.ts";
import { findAccount } from "./embedded/unprivileged_user.ts";

export class FolderInUse extends UserError {}

export type Owning = ReturnType<typeof ownDataDir>;

/** File locks belong to a process, so a second part of this process on the same folder joins the first. */
const owned = new Map<string, { database: Database; owners: number }>();

/**
 * Makes this process the owner of the folder, which is created if it does not exist.
 * @throws UserError when another process owns it, or it cannot be written.
 */
export function ownDataDir(dataDir: string) {
  const folder = makeFolder(dataDir);
  let holding = owned.get(folder);
  if (!holding) {
    refuseHalfRestored(folder);
    holding = { database: lock(folder), owners: 0 };
    owned.set(folder, holding);
    // The file of an earlier owner may hold our process id: in a container ids are the same after each start.
    removeConnection(folder);
    fs.writeFileSync(join(folder, "owner"), `${process.pid}\n`, { mode: 0o600 });
  }
  holding.owners++;
  let released = false;
  /** Releases it; the folder is free when every part of this process that owns it has done so. */
  const release = (): void => {
    if (released) return;
    released = true;
    holding.owners--;
    if (holding.owners > 0) return;
    owned.delete(folder);
    holding.database.close();
  };
  return { release, [Symbol.dispose]: release };
}

/** The file that exists while a restore fills the folder: no other process may own it until then. */
export function restoringPath(dataDir: string): string {
  return join(dataDir, "restoring");
}

/** @throws UserError when a restore of the folder was interrupted, or is running. */
export function refuseHalfRestored(dataDir: string): void {
  if (!fs.existsSync(restoringPath(dataDir))) return;
  throw new UserError(
    `DATA_DIR ${dataDir} has an incomplete restore: empty it, then: bun run sluice restore BACKUP`,
  );
}

export function ownsDataDir(dataDir: string): boolean {
  return fs.existsSync(dataDir) && owned.has(fs.realpathSync(dataDir));
}

/** The process that last owned the folder, and where its server listens; it may be gone. */
export function readOwner(dataDir: string): { pid?: number; url?: string } {
  try {
    const [pid, url] = fs.readFileSync(join(dataDir, "owner"), "utf8").split("\n");
    return { ...(Number(pid) && { pid: Number(pid) }), ...(url && { url }) };
  } catch {
    return {};
  }
}

/** Lets commands find the server of the folder, which this process owns. */
export function recordAddress(dataDir: string, url: string): void {
  fs.appendFileSync(join(dataDir, "owner"), `${url}\n`);
}

/** @throws UserError when a file, or a link that leads nowhere, is in the place of the folder or of one above. */
export function refuseFile(dataDir: string): void {
  for (let path = dataDir; ; path = dirname(path)) {
    try {
      fs.lstatSync(path);
    } catch {
      continue;
    }
    if (fs.existsSync(path) && fs.statSync(path).isDirectory()) return;
    const remedy = `mount what it links to, set another DATA_DIR, or: mv ${path} ${path}.old`;
    throw new UserError(`DATA_DIR ${dataDir} cannot be used: ${path} is no folder; ${remedy}`);
  }
}

function makeFolder(dataDir: string): string {
  try {
    refuseFile(dataDir);
    fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const folder = fs.realpathSync(dataDir);
    // SQLite would only report that it cannot open a file.
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    closeToOthers(folder);
    return folder;
  } catch (thrown) {
    if (thrown instanceof UserError) throw thrown;
    throw unusable(dataDir, thrown);
  }
}

/**
 * Makes the folders in it unreadable for others, whatever its own mode. @throws UserError for what another user has put
 * into a folder that others may write: a link, for example, through which the server would write elsewhere.
 */
function closeToOthers(folder: string): void {
  const userId = process.getuid?.();
  if (userId === undefined) return;
  const trusted = [userId, 0, userId === 0 ? findAccount()?.uid : undefined];
  const isOpen = (fs.statSync(folder).mode & 0o022) !== 0;
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    const entry = fs.lstatSync(path);
    if (isOpen && !trusted.includes(entry.uid)) {
      const remedy = `remove it, and let no other user write there: chmod go-w ${folder}`;
      throw new UserError(`${path} belongs to another user of this machine: ${remedy}`);
    }
    if (entry.isDirectory() && entry.uid === userId && (entry.mode & 0o077) !== 0) fs.chmodSync(path, 0o700);
  }
}

/** SQLite locks files on every platform; the database itself stays empty. */
function lock(folder: string): Database {
  let database: Database | undefined;
  try {
    database = new Database(join(folder, "lock"), { create: true });
    database.run("BEGIN EXCLUSIVE");
    return database;
  } catch (thrown) {
    database?.close();
    if (toCode(thrown) !== "SQLITE_BUSY") throw unusable(folder, thrown);
    const owner = readOwner(folder).pid ?? "unknown";
    throw new FolderInUse(
      `DATA_DIR ${folder} is in use by process ${owner}; set another DATA_DIR, or stop it: kill ${owner}`,
    );
  }
}

function unusable(dataDir: string, thrown: unknown): UserError {
  const remedy = `set another one, or let this user write it: chown -R USER ${dataDir}`;
  return new UserError(`DATA_DIR ${dataDir} cannot be used: ${toReason(thrown)}; ${remedy}`);
}

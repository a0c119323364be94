// A folder below EXPORT_FILE_DIR, opened step by step. Symbolic links are not followed, even if one is created
// meanwhile, where the system can name a folder by its descriptor. Folders and files are readable by their owner only.

import * as fs from "node:fs";
import { join } from "node:path";
import { toCode } from "../../../core/log.ts";
import { ExportError } from "../../failure.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_CREAT, O_EXCL, O_WRONLY } = fs.constants;

const folderMode = 0o700;
const fileMode = 0o600;

/** The error for a step that is a symbolic link. */
interface Step {
  name: string;
  leaves: string;
}

/**
 * Opens a folder, and creates the missing part of its path.
 * @param root EXPORT_FILE_DIR, which may itself be a link
 * @param path below it: the destination's path, and the folders in a key
 * @throws ExportError
 */
export function openExportFolder(root: string | undefined, path: string, below = ""): ExportFolder {
  if (root === undefined)
    throw new ExportError("File destinations are switched off: EXPORT_FILE_DIR is not set", true);
  const steps = [
    ...splitPath(path, "The path leaves EXPORT_FILE_DIR"),
    ...splitPath(below, "The prefix leaves the destination's folder"),
  ];
  let opened = withoutPaths(() => fs.realpathSync(root), "EXPORT_FILE_DIR does not exist");
  let folder = withoutPaths(() => fs.openSync(opened, O_RDONLY | O_DIRECTORY));
  for (const step of steps) {
    try {
      const next = openStep(folder, opened, step);
      fs.closeSync(folder);
      folder = next;
      opened = join(opened, step.name);
    } catch (thrown) {
      fs.closeSync(folder);
      throw thrown;
    }
  }
  return new ExportFolder(folder, opened);
}

/** An open folder. Names are those of files in it, without slashes. */
export class ExportFolder {
  /** The path for programs that open it by name. */
  readonly path: string;
  readonly #folder: number;
  /** The inodes of files that were created here and are not renamed. */
  readonly #made = new Map<string, number>();

  constructor(folder: number, path: string) {
    this.#folder = folder;
    this.path = path;
  }

  /** Creates an empty file; an existing one is replaced. */
  create(name: string): void {
    this.remove(name);
    const file = withoutPaths(() =>
      fs.openSync(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode),
    );
    this.#made.set(name, fs.fstatSync(file).ino);
    fs.closeSync(file);
  }

  /** Renames a file of `create`, and replaces an existing one. Refuses a file without rows. */
  rename(name: string, to: string): void {
    const { ino, size } = withoutPaths(() => fs.lstatSync(this.#at(name)));
    if (ino !== this.#made.get(name) || size === 0)
      throw new ExportError("A file was moved while it was written", false);
    withoutPaths(() => fs.renameSync(this.#at(name), this.#at(to)));
    this.#made.delete(name);
  }

  /** Removes a file, if it exists. */
  remove(name: string): void {
    this.#made.delete(name);
    try {
      fs.unlinkSync(this.#at(name));
    } catch (thrown) {
      if (toCode(thrown) !== "ENOENT") throw failure(thrown);
    }
  }

  /** Removes what was created and not renamed. */
  close(): void {
    try {
      for (const name of this.#made.keys()) this.remove(name);
    } finally {
      fs.closeSync(this.#folder);
    }
  }

  #at(name: string): string {
    return within(this.#folder, this.path, name);
  }
}

function splitPath(path: string, leaves: string): Step[] {
  const names = path.split("/").filter((name) => name !== "");
  if (names.some((name) => name === "." || name === "..")) throw new ExportError(leaves, true);
  return names.map((name) => ({ name, leaves }));
}

function openStep(folder: number, parent: string, { name, leaves }: Step): number {
  const path = within(folder, parent, name);
  try {
    fs.mkdirSync(path, { mode: folderMode });
  } catch (thrown) {
    if (toCode(thrown) !== "EEXIST") throw failure(thrown);
  }
  try {
    return fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (thrown) {
    const code = toCode(thrown);
    if (code !== "ELOOP" && code !== "ENOTDIR") throw failure(thrown);
    const isLink = code === "ELOOP" || withoutPaths(() => fs.lstatSync(path)).isSymbolicLink();
    throw new ExportError(isLink ? leaves : "A file is where a folder is to be", true);
  }
}

/**
 * The path of a name in an open folder. Without /proc it is the plain path, in which a link may be created meanwhile.
 */
function within(folder: number, parent: string, name: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder}/${name}` : join(parent, name);
}

/** The system's error without its paths, which are the operator's. */
function withoutPaths<T>(act: () => T, otherwise?: string): T {
  try {
    return act();
  } catch (thrown) {
    throw failure(thrown, otherwise);
  }
}

function failure(thrown: unknown, otherwise?: string): ExportError {
  if (thrown instanceof ExportError) return thrown;
  const code = toCode(thrown);
  if (otherwise !== undefined && code === "ENOENT") return new ExportError(otherwise, true);
  const final = code === "EACCES" || code === "EPERM" || code === "EISDIR" || code === "ENAMETOOLONG";
  return new ExportError(`The folder cannot be written to: ${code || "it failed"}`, final);
}

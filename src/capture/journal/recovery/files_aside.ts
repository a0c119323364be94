// Damaged files are set aside for an operator, under names that no recovery reads.

import { basename, dirname } from "node:path";
import type { JournalIo } from "../journal_io.ts";

/** Keeps the file under a second name by a hard link, which takes no space, or as a copy. Returns the name. */
export function linkAside(io: JournalIo, path: string): string {
  const aside = freeName(io, path);
  try {
    io.link(path, aside);
  } catch {
    io.copy(path, `${aside}.part`);
    io.rename(`${aside}.part`, aside);
  }
  return aside;
}

/** Renames the file; returns its new name. */
export function moveAside(io: JournalIo, path: string): string {
  const aside = freeName(io, path);
  io.rename(path, aside);
  return aside;
}

/** Whether linkAside() has set the file aside before. */
export function isAside(io: JournalIo, path: string): boolean {
  const { ino, nlink } = io.stat(path);
  if (nlink === 1) return false;
  const asides = io.list(dirname(path)).filter((name) => name.startsWith(`${basename(path)}.`));
  return asides.some((name) => io.stat(`${dirname(path)}/${name}`).ino === ino);
}

/** A name that no file set aside has. */
function freeName(io: JournalIo, path: string): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? `${path}.damaged` : `${path}.${number}.damaged`;
    if (!io.exists(name)) return name;
  }
}

// Stands in for node:fs and node:fs/promises in a simulation: what src/capture uses of them, on the simulated disk. A
// call of a server that is dead never ends, or throws.

import { DiskError, type Inode } from "./disk.ts";
import { machine } from "./machine.ts";

export const constants = { O_RDWR: 2, O_CREAT: 64 };

/** The folders of a server. */
export const folders = { journal: "/data/journal", flush: "/data/flush", quarantine: "/data/quarantine" };

const openFiles = new Map<number, { inode?: Inode; path: string; appends: boolean }>();
let fds = 100;
/** Calls of the server that other threads have under way. */
const underWay = new Set<() => unknown>();
let isInKernel = false;

/** The server is dead: some of the calls that were under way are done all the same. */
export function endProcess(): void {
  const { chance } = machine();
  isInKernel = true;
  for (const act of underWay) {
    if (!chance.is(0.4)) continue;
    try {
      act();
    } catch {
      // Nobody hears of it.
    }
  }
  isInKernel = false;
  underWay.clear();
  openFiles.clear();
}

function alive(): void {
  if (machine().life.isOver && !isInKernel) throw new DiskError("EIO", "the server is dead");
}

export function openSync(path: string, flags: string | number): number {
  alive();
  const { disk } = machine();
  const fd = ++fds;
  let inode = disk.find(path);
  if (flags === "wx" && inode) throw new DiskError("EEXIST", path);
  const creates = flags === "w" || flags === "a" || flags === "wx" || typeof flags === "number";
  if (!inode && creates) inode = disk.create(path);
  if (!inode && !Object.values(folders).includes(path)) throw new DiskError("ENOENT", path);
  if (inode && flags === "w") disk.truncate(inode, 0);
  openFiles.set(fd, { ...(inode && { inode }), path, appends: flags === "a" });
  return fd;
}

function opened(fd: number): Inode {
  const inode = openFiles.get(fd)?.inode;
  if (!inode) throw new DiskError("EBADF", "the file is closed");
  return inode;
}

export function closeSync(fd: number): void {
  openFiles.delete(fd);
}

export function fsyncSync(fd: number): void {
  alive();
  const file = openFiles.get(fd);
  if (!file) throw new DiskError("EBADF", "the file is closed");
  if (file.inode) machine().disk.sync(file.inode);
  else machine().disk.syncFolder(file.path);
}

export const fdatasyncSync = fsyncSync;

export function writeSync(
  fd: number,
  bytes: Uint8Array,
  from = 0,
  length = bytes.length,
  at?: number,
): number {
  alive();
  const inode = opened(fd);
  const place = at ?? (openFiles.get(fd)!.appends ? inode.size : 0);
  return machine().disk.write(inode, place, bytes.subarray(from, from + length));
}

export function writevSync(fd: number, pieces: Uint8Array[], at: number): number {
  return writeSync(fd, Buffer.concat(pieces), 0, undefined, at);
}

export function readSync(fd: number, into: Uint8Array, from: number, length: number, at: number): number {
  alive();
  const inode = opened(fd);
  const bytes = inode.bytes.subarray(at, Math.min(inode.size, at + length));
  into.set(bytes, from);
  return bytes.length;
}

export function readFileSync(path: string, encoding?: BufferEncoding): Buffer | string {
  alive();
  if (path.startsWith("/proc/")) return `${machine().bootId}\n`;
  const inode = machine().disk.find(path);
  if (!inode) throw new DiskError("ENOENT", path);
  const bytes = Buffer.from(inode.content());
  return encoding ? bytes.toString(encoding) : bytes;
}

export function writeFileSync(
  path: string,
  content: string | Uint8Array,
  options: { flush?: boolean } = {},
): void {
  const fd = openSync(path, "w");
  try {
    writeAll(fd, content);
    if (options.flush) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = Buffer.from(content as Uint8Array);
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, done);
}

export function existsSync(path: string): boolean {
  alive();
  return machine().disk.find(path) !== undefined;
}

export function readdirSync(folder: string, options?: { withFileTypes?: boolean }): unknown[] {
  alive();
  const names = machine().disk.list(folder);
  return options?.withFileTypes ? names.map((name) => ({ name, isFile: () => true })) : names;
}

export function statSync(path: string): { size: number; nlink: number; ino: number; mtime: Date } {
  alive();
  const inode = machine().disk.find(path);
  if (!inode) throw new DiskError("ENOENT", path);
  return { size: inode.size, nlink: inode.links, ino: inode.ino, mtime: new Date(0) };
}

/** A file system of an unknown type: nothing is written through mappings, which could not be followed here. */
export function statfsSync(): { type: number } {
  return { type: 0 };
}

export function mkdirSync(): void {
  alive();
}

export function rmSync(path: string, options: { recursive?: boolean; force?: boolean } = {}): void {
  alive();
  const { disk } = machine();
  if (options.recursive) for (const name of disk.list(path)) disk.unlink(`${path}/${name}`);
  else if (disk.find(path) || !options.force) disk.unlink(path);
}

export function renameSync(from: string, to: string): void {
  alive();
  machine().disk.rename(from, to);
}

export function linkSync(from: string, to: string): void {
  alive();
  machine().disk.link(from, to);
}

export function copyFileSync(from: string, to: string): void {
  writeFileSync(to, readFileSync(from) as Buffer);
}

export function truncateSync(path: string, size: number): void {
  alive();
  const inode = machine().disk.find(path);
  if (!inode) throw new DiskError("ENOENT", path);
  machine().disk.truncate(inode, size);
}

/** Done after a while, and a dead server never hears of it. */
function later<Done>(act: () => Done): Promise<Done> {
  const { promise, resolve, reject } = Promise.withResolvers<Done>();
  const { time, life, chance } = machine();
  underWay.add(act);
  const settle = (): void => {
    underWay.delete(act);
    try {
      const done = act();
      if (!life.isOver) resolve(done);
    } catch (thrown) {
      if (!life.isOver) reject(thrown);
    }
  };
  time.schedule(chance.is(0.9) ? chance.next() * 3 : chance.next() * 80, settle, life);
  return promise;
}

export class FileHandle {
  readonly fd: number;

  constructor(fd: number) {
    this.fd = fd;
  }

  write(
    bytes: Uint8Array | string,
    from?: number,
    length?: number,
    at?: number,
  ): Promise<{ bytesWritten: number }> {
    const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
    return later(() => ({ bytesWritten: writeSync(this.fd, whole, from, length, at) }));
  }

  writev(pieces: Uint8Array[], at: number): Promise<{ bytesWritten: number }> {
    return later(() => ({ bytesWritten: writevSync(this.fd, pieces, at) }));
  }

  writeFile(content: string | Uint8Array): Promise<void> {
    return later(() => writeAll(this.fd, content));
  }

  read(into: Uint8Array, from: number, length: number, at: number): Promise<{ bytesRead: number }> {
    return later(() => ({ bytesRead: readSync(this.fd, into, from, length, at) }));
  }

  stat(): Promise<{ size: number }> {
    return later(() => {
      alive();
      return { size: opened(this.fd).content().length };
    });
  }

  sync(): Promise<void> {
    return later(() => fsyncSync(this.fd));
  }

  datasync(): Promise<void> {
    return later(() => fsyncSync(this.fd));
  }

  truncate(size: number): Promise<void> {
    return later(() => {
      alive();
      machine().disk.truncate(opened(this.fd), size);
    });
  }

  close(): Promise<void> {
    return later(() => closeSync(this.fd));
  }
}

export function open(path: string, flags: string): Promise<FileHandle> {
  return later(() => new FileHandle(openSync(path, flags)));
}

export function rename(from: string, to: string): Promise<void> {
  return later(() => renameSync(from, to));
}

export function unlink(path: string): Promise<void> {
  return later(() => rmSync(path));
}

export function rm(path: string, options?: { force?: boolean }): Promise<void> {
  return later(() => rmSync(path, options));
}

export function stat(path: string): Promise<{ size: number }> {
  return later(() => statSync(path));
}

export function readFile(path: string): Promise<Buffer> {
  return later(() => readFileSync(path) as Buffer);
}

export function statfs(): Promise<{ bavail: number; blocks: number; bsize: number }> {
  return later(() => ({ bavail: 1 << 30, blocks: 1 << 30, bsize: 4096 }));
}

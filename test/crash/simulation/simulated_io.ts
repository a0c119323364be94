// The files of one life of a simulated server, on the simulated disk. A call of a server that is dead never ends, or
// throws.

import type { JournalFile, JournalIo, MarksFile } from "../../../src/capture/journal/journal_io.ts";
import { DiskError, type Inode } from "./disk.ts";
import type { Life, Machine } from "./machine.ts";

/** The folders of a server. */
export const folders = { journal: "/data/journal", flush: "/data/flush", quarantine: "/data/quarantine" };

interface Opened {
  /** Undefined: a folder. */
  inode: Inode | undefined;
  path: string;
  appends: boolean;
}

export class SimulatedIo implements JournalIo {
  readonly #machine: Machine;
  readonly #life: Life;
  readonly #opened = new Map<number, Opened>();
  #fds = 100;
  /** Calls of the server that other threads have under way. */
  readonly #underWay = new Set<() => unknown>();
  #isInKernel = false;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#life = machine.life;
  }

  /** The server is dead: some of the calls that were under way are done all the same. */
  end(): void {
    this.#isInKernel = true;
    for (const act of this.#underWay) {
      if (!this.#machine.chance.is(0.4)) continue;
      try {
        act();
      } catch {
        // Nobody hears of it.
      }
    }
    this.#isInKernel = false;
    this.#underWay.clear();
    this.#opened.clear();
  }

  bootId(): string {
    return this.#machine.bootId;
  }

  exists(path: string): boolean {
    return this.#disk.find(path) !== undefined;
  }

  list(folder: string): string[] {
    return this.#disk.list(folder);
  }

  stat(path: string): { size: number; nlink: number; ino: number; mtime: Date } {
    const { size, links: nlink, ino } = this.#existing(path);
    return { size, nlink, ino, mtime: new Date(0) };
  }

  read(path: string): Uint8Array {
    return this.#existing(path).content();
  }

  readParts(path: string, parts: readonly { offset: number; length: number }[]): Uint8Array[] {
    const inode = this.#existing(path);
    return parts.map(({ offset, length }) => partOf(inode, offset, length).slice());
  }

  write(path: string, content: string | Uint8Array): void {
    const opened = this.#open(path, "w");
    this.#writeAll(opened, content);
    this.#sync(opened);
  }

  rename(from: string, to: string): void {
    this.#disk.rename(from, to);
  }

  link(from: string, to: string): void {
    this.#disk.link(from, to);
  }

  copy(from: string, to: string): void {
    this.write(to, this.read(from));
  }

  truncate(path: string, size: number): void {
    this.#disk.truncate(this.#existing(path), size);
  }

  remove(path: string): void {
    const disk = this.#disk;
    for (const name of disk.list(path)) disk.unlink(`${path}/${name}`);
    if (disk.find(path)) disk.unlink(path);
  }

  /** The folders of a server exist by themselves. */
  makeFolder(_path: string): void {}

  sync(path: string): void {
    this.#sync(this.#open(path, "r"));
  }

  openMarks(path: string): MarksFile {
    const opened = this.#open(path, "a");
    return {
      write: (bytes, from, at) => this.#write(opened, bytes.subarray(from), at),
      sync: () => this.#sync(opened),
      close: () => {},
      // What is stored to memory could not be followed here.
      map: () => undefined,
    };
  }

  open(path: string, flags: string): Promise<JournalFile> {
    return this.#later(() => {
      const fd = ++this.#fds;
      this.#opened.set(fd, this.#open(path, flags));
      return this.#file(fd);
    });
  }

  writevNow({ fd }: JournalFile, pieces: Uint8Array[], at: number): number {
    return this.#write(this.#openedAs(fd), Buffer.concat(pieces), at);
  }

  renameSoon(from: string, to: string): Promise<void> {
    return this.#later(() => this.rename(from, to));
  }

  removeSoon(path: string): Promise<void> {
    return this.#later(() => this.remove(path));
  }

  #file(fd: number): JournalFile {
    const later = <Done>(act: (opened: Opened) => Done) => this.#later(() => act(this.#openedAs(fd)));
    const written = (bytesWritten: number) => ({ bytesWritten });
    return {
      fd,
      write: (bytes, from = 0, length = bytes.length, at) =>
        later((opened) => written(this.#write(opened, bytes.subarray(from, from + length), at))),
      writev: (pieces, at) => later((opened) => written(this.#write(opened, Buffer.concat(pieces), at))),
      writeFile: (content) => later((opened) => this.#writeAll(opened, content as Uint8Array)),
      read: (into, from, length, at) =>
        later(({ inode }) => {
          const bytes = partOf(inode!, at, length);
          into.set(bytes, from);
          return { bytesRead: bytes.length };
        }),
      stat: () => later(({ inode }) => ({ size: inode!.size })),
      sync: () => later((opened) => this.#sync(opened)),
      datasync: () => later((opened) => this.#sync(opened)),
      truncate: (size = 0) => later(({ inode }) => this.#disk.truncate(inode!, size)),
      close: () => this.#later(() => void this.#opened.delete(fd)),
    };
  }

  get #disk() {
    if (this.#life.isOver && !this.#isInKernel) throw new DiskError("EIO", "the server is dead");
    return this.#machine.disk;
  }

  #existing(path: string): Inode {
    const inode = this.#disk.find(path);
    if (!inode) throw new DiskError("ENOENT", path);
    return inode;
  }

  #open(path: string, flags: string): Opened {
    const disk = this.#disk;
    let inode = disk.find(path);
    if (flags === "wx" && inode) throw new DiskError("EEXIST", path);
    if (!inode && !flags.startsWith("r")) inode = disk.create(path);
    if (!inode && !Object.values(folders).includes(path)) throw new DiskError("ENOENT", path);
    if (inode && flags === "w") disk.truncate(inode, 0);
    return { inode, path, appends: flags === "a" };
  }

  #openedAs(fd: number): Opened {
    const opened = this.#opened.get(fd);
    if (!opened) throw new DiskError("EBADF", "the file is closed");
    return opened;
  }

  #write({ inode, appends }: Opened, bytes: Uint8Array, at?: number): number {
    return this.#disk.write(inode!, at ?? (appends ? inode!.size : 0), bytes);
  }

  #writeAll({ inode }: Opened, content: string | Uint8Array): void {
    const bytes = Buffer.from(content as Uint8Array);
    for (let done = 0; done < bytes.length;) done += this.#disk.write(inode!, done, bytes.subarray(done));
  }

  #sync({ inode, path }: Opened): void {
    if (inode) this.#disk.sync(inode);
    else this.#disk.syncFolder(path);
  }

  /** Done after a while, and a dead server never hears of it. */
  #later<Done>(act: () => Done): Promise<Done> {
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    const { time, chance } = this.#machine;
    const life = this.#life;
    this.#underWay.add(act);
    const settle = (): void => {
      this.#underWay.delete(act);
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
}

function partOf({ bytes, size }: Inode, at: number, length: number): Uint8Array {
  return bytes.subarray(at, Math.max(at, Math.min(size, at + length)));
}

// A disk in memory. What was written is seen at once, by the next process too; what was not synced is lost, kept, torn
// or kept out of order when power goes, sector by sector. Names become durable in their order when their folder is
// synced, or by themselves at any time before. Faults, as the seed has them:
//
//   a call may fail with EIO or ENOSPC, done in part or not at all; after a failed sync nobody knows what is durable
//   a write may be short, by whole sectors
//   the server may die at any call, and that call may be done, done up to the end of a page, or not
//
// Not among the faults: a sync that lies, bytes that change by themselves, a read that fails.

import type { Chance } from "./machine.ts";

const sectorBytes = 512;
/** A kill ends a write between two pages only. */
const pageBytes = 4096;

/** A write, or a change of length, that is not durable yet. */
interface Change {
  from: number;
  bytes: Uint8Array;
  size: number;
}

export class Inode {
  bytes: Uint8Array = new Uint8Array(1024);
  size = 0;
  links = 0;
  /** Its number, as stat(2) has it. */
  readonly ino: number;
  #durable: Uint8Array = new Uint8Array(0);
  #changes: Change[] = [];

  constructor(ino: number) {
    this.ino = ino;
  }

  content(): Uint8Array {
    return this.bytes.slice(0, this.size);
  }

  write(from: number, bytes: Uint8Array): void {
    const size = Math.max(this.size, from + bytes.length);
    this.#reserve(size);
    this.bytes.set(bytes, from);
    this.size = size;
    this.#changes.push({ from, bytes: bytes.slice(), size });
  }

  truncate(size: number): void {
    this.#reserve(size);
    if (size < this.size) this.bytes.fill(0, size, this.size);
    this.size = size;
    this.#changes.push({ from: size, bytes: new Uint8Array(0), size });
  }

  sync(): void {
    if (this.#changes.length === 0) return;
    this.#durable = this.content();
    this.#changes = [];
  }

  /** A sync that failed: any of the changes may be durable, and no later sync tries again. */
  failToSync(chance: Chance): void {
    this.#durable = this.#afterPowerLoss(chance);
    this.#changes = [];
  }

  losePower(chance: Chance): void {
    const left = this.#afterPowerLoss(chance);
    this.bytes = new Uint8Array(Math.max(1024, left.length * 2));
    this.bytes.set(left);
    this.size = left.length;
    this.#durable = left;
    this.#changes = [];
  }

  /** Each sector has the content of some moment since the last sync, and so has the length. */
  #afterPowerLoss(chance: Chance): Uint8Array {
    const changes = this.#changes;
    if (changes.length === 0) return this.#durable;
    const sizeAt = momentOf(chance, changes.length);
    const size = sizeAt === 0 ? this.#durable.length : changes[sizeAt - 1]!.size;
    const left = new Uint8Array(size);
    left.set(this.#durable.subarray(0, size));
    for (let from = 0; from < size; from += sectorBytes) {
      const to = Math.min(from + sectorBytes, size);
      const moment = momentOf(chance, changes.length);
      for (const change of changes.slice(0, moment)) {
        if (change.size < to) left.fill(0, Math.max(from, change.size), to);
        const first = Math.max(from, change.from);
        const last = Math.min(to, change.from + change.bytes.length);
        if (first < last) left.set(change.bytes.subarray(first - change.from, last - change.from), first);
      }
    }
    return left;
  }

  #reserve(size: number): void {
    if (size <= this.bytes.length) return;
    const more = new Uint8Array(Math.max(size, this.bytes.length * 2));
    more.set(this.bytes.subarray(0, this.size));
    this.bytes = more;
  }
}

/** How many of so many changes have reached the disk: often none or all of them. */
function momentOf(chance: Chance, count: number): number {
  const kind = chance.next();
  if (kind < 0.35) return 0;
  return kind < 0.7 ? count : chance.below(count + 1);
}

/** So many bytes from `from` on, cut where a unit of the file ends. */
function toUnit(from: number, length: number, unit: number): number {
  return Math.max(0, Math.floor((from + length) / unit) * unit - from);
}

export class DiskError extends Error {
  readonly code: string;

  constructor(code: string, about: string) {
    super(`${code}: ${about}`);
    this.code = code;
  }
}

export interface DiskFaults {
  /** The probability that a call that changes something fails. */
  fails: number;
  /** The probability that a write takes fewer bytes. */
  shortens: number;
  /** Bytes of all files; a write beyond that is ENOSPC. */
  bytesMax: number;
}

const noFaults: DiskFaults = { fails: 0, shortens: 0, bytesMax: Number.POSITIVE_INFINITY };

/** Names are whole paths; the folders of a server exist by themselves. */
export class SimulatedDisk {
  faults: DiskFaults = noFaults;
  /** Calls that change something, since the server started; at `diesAt` it dies. */
  calls = 0;
  diesAt = Number.POSITIVE_INFINITY;
  readonly #chance: Chance;
  readonly #die: () => void;
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  /** Changes of names that are not durable, in their order. */
  #changes: { folder: string; act: (names: Map<string, Inode>) => void }[] = [];
  #inodes = 0;

  constructor(chance: Chance, die: () => void) {
    this.#chance = chance;
    this.#die = die;
  }

  /** Another process begins: it counts its own calls. */
  begin(faults: DiskFaults, diesAt: number): void {
    this.calls = 0;
    this.faults = faults;
    this.diesAt = diesAt;
  }

  losePower(): void {
    const kept = this.#chance.below(this.#changes.length + 1);
    for (const { act } of this.#changes.slice(0, kept)) act(this.#durableNames);
    this.#changes = [];
    this.#names = new Map(this.#durableNames);
    const inodes = new Set(this.#names.values());
    for (const inode of inodes) {
      inode.losePower(this.#chance);
      inode.links = [...this.#names.values()].filter((one) => one === inode).length;
    }
  }

  find(path: string): Inode | undefined {
    return this.#names.get(path);
  }

  list(folder: string): string[] {
    const prefix = `${folder}/`;
    const names: string[] = [];
    for (const path of this.#names.keys()) {
      if (path.startsWith(prefix) && !path.includes("/", prefix.length))
        names.push(path.slice(prefix.length));
    }
    return names;
  }

  create(path: string): Inode {
    return this.#change(path, () => {
      const inode = new Inode(++this.#inodes);
      this.#name(path, (names) => names.set(path, inode));
      inode.links = 1;
      return inode;
    });
  }

  rename(from: string, to: string): void {
    this.#change(from, () => {
      const inode = this.#existing(from);
      const replaced = this.#names.get(to);
      if (replaced) replaced.links--;
      this.#name(from, (names) => {
        names.delete(from);
        names.set(to, inode);
      });
    });
  }

  link(from: string, to: string): void {
    this.#change(from, () => {
      const inode = this.#existing(from);
      if (this.#names.has(to)) throw new DiskError("EEXIST", to);
      this.#name(from, (names) => names.set(to, inode));
      inode.links++;
    });
  }

  unlink(path: string): void {
    this.#change(path, () => {
      const inode = this.#existing(path);
      this.#name(path, (names) => names.delete(path));
      inode.links--;
    });
  }

  /** Returns how many bytes were taken. */
  write(inode: Inode, from: number, bytes: Uint8Array): number {
    const taken = (done: number): number => {
      inode.write(from, bytes.subarray(0, done));
      return done;
    };
    const partly = (unit: number): void => {
      taken(toUnit(from, this.#chance.below(bytes.length + 1), unit));
    };
    return this.#change("a write", () => taken(this.#takenOf(inode, from, bytes.length)), partly);
  }

  truncate(inode: Inode, size: number): void {
    this.#change("a truncation", () => inode.truncate(size));
  }

  sync(inode: Inode): void {
    // The server's death leaves the pages as they are.
    const partly = (unit: number): void => {
      if (unit === sectorBytes) inode.failToSync(this.#chance);
    };
    this.#change("a sync", () => inode.sync(), partly);
  }

  syncFolder(folder: string): void {
    this.#change(folder, () => {
      for (const { act } of this.#changes.filter((one) => one.folder === folder)) act(this.#durableNames);
      this.#changes = this.#changes.filter((one) => one.folder !== folder);
    });
  }

  #takenOf(inode: Inode, from: number, wanted: number): number {
    const { faults } = this;
    let taken = wanted;
    if (wanted > 1 && this.#chance.is(faults.shortens)) {
      taken = toUnit(from, this.#chance.below(wanted), sectorBytes) || wanted;
    }
    if (faults.bytesMax === Number.POSITIVE_INFINITY) return taken;
    const more = Math.max(0, from + taken - inode.size);
    let used = 0;
    for (const one of new Set(this.#names.values())) used += one.size;
    const free = Math.max(0, faults.bytesMax - used);
    if (more <= free) return taken;
    const fits = toUnit(from, Math.max(0, taken - (more - free)), sectorBytes);
    if (fits === 0) throw new DiskError("ENOSPC", "no space is left");
    return fits;
  }

  #existing(path: string): Inode {
    const inode = this.#names.get(path);
    if (!inode) throw new DiskError("ENOENT", path);
    return inode;
  }

  #name(path: string, act: (names: Map<string, Inode>) => void): void {
    act(this.#names);
    this.#changes.push({ folder: path.slice(0, path.lastIndexOf("/")), act });
  }

  /** One call: it may be the last one, and it may fail, done `partly`. */
  #change<Done>(about: string, act: () => Done, partly: (unit: number) => void = () => {}): Done {
    const chance = this.#chance;
    if (++this.calls >= this.diesAt) {
      const kind = chance.next();
      if (kind < 0.4) act();
      else if (kind < 0.7) partly(pageBytes);
      this.#die();
      throw new DiskError("EIO", "the server is dead");
    }
    if (chance.is(this.faults.fails)) {
      if (chance.is(0.5)) partly(sectorBytes);
      throw new DiskError(chance.is(0.5) ? "EIO" : "ENOSPC", about);
    }
    return act();
  }
}

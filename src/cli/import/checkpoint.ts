// What of an import the server has answered for, kept in a file so that the same command goes on where it
// ended. Never believed blindly: it names its inputs, and the rows it has seen are compared again by their
// digest.

import { open, rename, rm } from "node:fs/promises";
import { UserError } from "../../core/fault.ts";
import { reasonOf } from "../../core/log.ts";
import type { Body } from "./body.ts";
import { addCounts, noCounts, type ImportCounts } from "./tally.ts";

/** What must be the same for a checkpoint to hold. Paths as they were given. */
export interface FileIdentity {
  files: { path: string; size: number | null; head: string }[];
  host: string;
  /** A hash of the project key. */
  key: string;
  format: string;
  bytes_max: number;
  rows_max: number;
}

interface State {
  sluice_import: 1;
  identity: FileIdentity;
  /** When the import began, ms since 1970: its idea of "in the future" must not move between runs. */
  started_at: number;
  /** Bodies below this number have been answered. */
  low: number;
  /** The chain digest of body low - 1. */
  low_chain: string;
  /** Answered bodies from `low` on, by number, with their chain digests. */
  above: Record<string, string>;
  counts: ImportCounts;
}

export class Checkpoint {
  /** Undefined: kept in memory only. */
  readonly path: string | undefined;
  readonly resumed: boolean;
  readonly #state: State;
  #writing: Promise<void> | undefined;
  #stale = false;

  private constructor(path: string | undefined, state: State, resumed: boolean) {
    this.path = path;
    this.#state = state;
    this.resumed = resumed;
  }

  /**
   * Reads the file when there is one, else begins it.
   * @throws UserError when it belongs to another import, is damaged, or cannot be written.
   */
  static async open(path: string | undefined, identity: FileIdentity, nowMs: number): Promise<Checkpoint> {
    const found = path === undefined ? undefined : await readState(path);
    if (found !== undefined) {
      const difference = differenceOf(found.identity, identity);
      if (difference === undefined) return new Checkpoint(path, found, true);
      throw new UserError(
        `${path} is the checkpoint of another import: ${difference}; remove it to begin anew`,
      );
    }
    const state: State = {
      sluice_import: 1,
      identity,
      started_at: nowMs,
      low: 0,
      low_chain: "",
      above: {},
      counts: noCounts(),
    };
    const checkpoint = new Checkpoint(path, state, false);
    await checkpoint.save();
    return checkpoint;
  }

  get startedAtMs(): number {
    return this.#state.started_at;
  }

  get counts(): ImportCounts {
    return this.#state.counts;
  }

  /**
   * True when an earlier run had the body answered.
   * @throws UserError when it was another body: the files have changed since.
   */
  has(body: Body): boolean {
    const { low, low_chain, above } = this.#state;
    const chain = body.number === low - 1 ? low_chain : above[body.number];
    if (chain !== undefined && chain !== body.chain) {
      throw new UserError(`the files have changed since ${this.path} was written; remove it to begin anew`);
    }
    return body.number < low || chain !== undefined;
  }

  /** Fewer bodies came than had been answered: the files have shrunk. */
  hasBeyond(bodies: number): boolean {
    const { low, above } = this.#state;
    return low > bodies || Object.keys(above).some((number) => Number(number) >= bodies);
  }

  /** Notes an answer; the file follows soon. */
  add(number: number, chain: string, counts: ImportCounts): void {
    const state = this.#state;
    addCounts(state.counts, counts);
    state.above[number] = chain;
    for (let next = state.above[state.low]; next !== undefined; next = state.above[state.low]) {
      state.low_chain = next;
      delete state.above[state.low++];
    }
    this.#stale = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    // Whoever saves or removes it hears of a failure.
    this.#writing.catch(() => {});
  }

  /**
   * Resolves when the file says all there is to say.
   * @throws UserError when it cannot be written.
   */
  async save(): Promise<void> {
    if (this.#writing !== undefined) await this.#writing;
    this.#stale = true;
    await this.#write();
  }

  async remove(): Promise<void> {
    if (this.#writing !== undefined) await this.#writing;
    if (this.path !== undefined) await rm(this.path, { force: true });
  }

  async #write(): Promise<void> {
    while (this.#stale) {
      this.#stale = false;
      if (this.path !== undefined) await replaceFile(this.path, JSON.stringify(this.#state));
    }
  }
}

async function readState(path: string): Promise<State | undefined> {
  const file = Bun.file(path);
  if (!(await file.exists())) return undefined;
  try {
    const state = JSON.parse(await file.text()) as Partial<State>;
    if (state.sluice_import === 1 && state.identity && state.counts && state.above) return state as State;
  } catch {
    // Told below, like every other text that is no checkpoint.
  }
  throw new UserError(`${path} is not a checkpoint of this command; move it away, or give another --state`);
}

/** Whole or not at all: a crash leaves the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.part`;
  try {
    const file = await open(fresh, "w", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (thrown) {
    throw new UserError(
      `cannot write the checkpoint ${path} (${reasonOf(thrown)}); --state puts it elsewhere`,
    );
  }
}

function differenceOf(was: FileIdentity, is: FileIdentity): string | undefined {
  const names = (identity: FileIdentity): string => identity.files.map((file) => file.path).join(" ");
  if (names(was) !== names(is)) return `it read ${names(was)}`;
  const changed = is.files.find((file, place) => {
    const before = was.files[place]!;
    return before.size !== file.size || before.head !== file.head;
  });
  if (changed !== undefined) return `${changed.path} has changed since`;
  if (was.host !== is.host) return `it sent to ${was.host}`;
  if (was.key !== is.key) return "it used another API key";
  if (was.format !== is.format) return `it read with --format ${was.format}`;
  return was.bytes_max === is.bytes_max && was.rows_max === is.rows_max
    ? undefined
    : "it used other batch sizes";
}

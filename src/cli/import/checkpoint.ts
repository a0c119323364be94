// Records which bodies of an import the server has answered, in a file, so that the same command can resume. The file
// names its inputs, and a resumed import compares the rows read again by their digest.

import { rm } from "node:fs/promises";
import { systemIo, writeDurably } from "../../capture/journal/journal_io.ts";
import { UserError } from "../../core/fault.ts";
import { jsonIn } from "../../core/json/dictionary.ts";
import { toReason } from "../../core/log.ts";
import type { Body } from "./body.ts";
import { addCounts, type ImportCounts, noCounts } from "./counts.ts";
import type { TimeRules } from "./formats/timestamp.ts";

/** Inputs that must be equal for a checkpoint to be valid. Paths are as given. */
export interface ImportInputs {
  files: { path: string; size: number | null; head: string }[];
  host: string;
  /** A hash of the project key. */
  key: string;
  format: string;
  /** Absent: refused. */
  dates?: TimeRules["dates"];
  bytes_max: number;
  rows_max: number;
}

interface State {
  sluice_import: 1;
  identity: ImportInputs;
  /** When the import began, ms since 1970: what counts as "in the future" must be the same in every run. */
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
  /** Undefined: in memory only. */
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
   * Reads the file, or creates it.
   * @throws UserError when it belongs to another import, is damaged, or cannot be written.
   */
  static async open(path: string | undefined, identity: ImportInputs, nowMs: number): Promise<Checkpoint> {
    const found = path === undefined ? undefined : await readState(path);
    if (found !== undefined) {
      const difference = findDifference(found.identity, identity);
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
   * Whether the body was answered in an earlier run.
   * @throws UserError when that body had other rows: the files have changed since.
   */
  has(body: Body): boolean {
    const { low, low_chain, above } = this.#state;
    const chain = body.number === low - 1 ? low_chain : above[body.number];
    if (chain !== undefined && chain !== body.chain) {
      throw new UserError(`the files have changed since ${this.path} was written; remove it to begin anew`);
    }
    return body.number < low || chain !== undefined;
  }

  /** Whether more bodies were answered than there are now: the files have shrunk. */
  hasBeyond(bodies: number): boolean {
    const { low, above } = this.#state;
    return low > bodies || Object.keys(above).some((number) => Number(number) >= bodies);
  }

  /** Adds an answered body; the file is written in the background. */
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
    // save() and remove() report a failure.
    this.#writing.catch(() => {});
  }

  /** Resolves when the file has everything. @throws UserError when it cannot be written. */
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
      if (this.path === undefined) continue;
      await writeDurably(systemIo, this.path, JSON.stringify(this.#state)).catch((thrown: unknown) => {
        const reason = toReason(thrown);
        throw new UserError(
          `cannot write the checkpoint ${this.path} (${reason}); --state puts it elsewhere`,
        );
      });
    }
  }
}

async function readState(path: string): Promise<State | undefined> {
  const file = Bun.file(path);
  if (!(await file.exists())) return undefined;
  const state = jsonIn(await file.text()) as Partial<State> | null | undefined;
  if (state?.sluice_import === 1 && state.identity && state.counts && state.above)
    // One of an older version counts no warnings.
    return { ...(state as State), counts: { ...noCounts(), ...state.counts } };
  throw new UserError(`${path} is not a checkpoint of this command; move it, or set another --state`);
}

function findDifference(was: ImportInputs, is: ImportInputs): string | undefined {
  const names = (identity: ImportInputs): string => identity.files.map((file) => file.path).join(" ");
  if (names(was) !== names(is)) return `it read ${names(was)}`;
  const changed = is.files.find((file, index) => {
    const before = was.files[index]!;
    return before.size !== file.size || before.head !== file.head;
  });
  if (changed !== undefined) return `${changed.path} has changed since`;
  if (was.host !== is.host) return `it sent to ${was.host}`;
  if (was.key !== is.key) return "it used another API key";
  if (was.format !== is.format) return `it read with --format ${was.format}`;
  if ((was.dates ?? "refused") !== (is.dates ?? "refused")) return "it read with another order of --dates";
  return was.bytes_max === is.bytes_max && was.rows_max === is.rows_max
    ? undefined
    : "it used other batch sizes";
}

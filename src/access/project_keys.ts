// The capture keys, in memory: which project a key belongs to, answered without asking a store. Never forgets
// a known key because Postgres is away, and never calls a key unknown without having asked Postgres after it
// came.

import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { type Clock, sleep } from "../core/clock.ts";
import { wrongKey } from "../core/id.ts";
import { withinMs } from "../core/deadline.ts";
import { Fault } from "../core/fault.ts";
import { accessLimits } from "./limits.ts";
import { limits } from "../core/limits.ts";
import { type Log, reasonOf } from "../core/log.ts";
import { readSummedJson, summedJson } from "../core/json/summed_json.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { type KeyEntry, type ProjectKeySource, projectKeySource } from "./store.ts";

export interface ProjectKeys {
  /** The project of a known key; for the hot path. */
  find(key: string): number | undefined;
  /**
   * The project of a key, asking Postgres when it is not known yet.
   * @throws Fault invalid_api_key (misshapen, or no project has it), or unavailable when Postgres cannot be
   * asked.
   */
  admit(key: string): Promise<number>;
  /** Whether a project wants its sessions recorded; for one whose key was found or admitted. */
  records(project_id: number): boolean;
  /** How a project takes events without a cookie; for one whose key was found or admitted. */
  cookieless(project_id: number): CookielessSetting;
  close(): Promise<void>;
}

export interface CookielessSetting {
  enabled: boolean;
  /** The project's: the day of an event that names no zone of its own. */
  timezone: string;
}

export interface ProjectKeysOptions {
  sql: Postgres;
  /**
   * The id of the database whose keys these are; undefined while it is not known. Another one's are not taken: its
   * projects have the same numbers.
   */
  database(): string | undefined;
  /** Where the table is saved, so that capture starts while Postgres is away. */
  path: string;
  log: Log;
  clock: Clock;
}

/** Opens the table: the saved one first, then Postgres's if it answers within `accessLimits.keysReadMsMax`. */
export function openProjectKeys({ sql, database, ...rest }: ProjectKeysOptions): Promise<ProjectKeys> {
  return openKeyTable({ source: projectKeySource(sql, database), ...rest });
}

export interface KeyTableOptions extends Omit<ProjectKeysOptions, "sql" | "database"> {
  source: ProjectKeySource;
  /** Half of how old the table may get, in ms: a read that fails is tried once more before that. */
  refreshMs?: number;
  readMsMax?: number;
}

export async function openKeyTable(options: KeyTableOptions): Promise<ProjectKeys> {
  const table = new KeyTable(options);
  await table.open();
  return table;
}

/** Why a key cannot be a project key, whatever Postgres says; undefined when it may be one. */
export function misshapenKey(key: string): string | undefined {
  if (key === "") return "empty";
  if (Buffer.byteLength(key) > limits.projectKeyBytesMax) return "too_long";
  if (key.includes("\0")) return "null_byte";
  if (!/^\p{ASCII}*$/u.test(key)) return "not_ascii";
  if (key.startsWith("phx_")) return "personal_api_key";
  return undefined;
}

/** Why a project cannot be given this key, as a person is told; undefined when it can. */
export function wrongProjectKey(key: string): string | undefined {
  const reason = misshapenKey(key);
  if (reason === "personal_api_key") return "must not begin with phx_, as personal API keys do";
  return reason === undefined ? wrongKey(key) : "must be 8 to 64 visible ASCII characters";
}

class KeyTable implements ProjectKeys {
  readonly #source: ProjectKeySource;
  readonly #path: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #readMsMax: number;
  readonly #refreshMs: number;
  #keys = new Map<string, KeyEntry>();
  #recording: ReadonlySet<number> = new Set();
  /** Of projects where it is not as usual. */
  #cookieless: ReadonlyMap<number, CookielessSetting> = new Map();
  /** Reads follow each other, so that an older answer never overwrites a newer one. */
  #reads: Promise<void> = Promise.resolve();
  #refreshQueued = false;
  /** Unknown keys waiting for the next round of look-ups. */
  #asked = new Set<string>();
  #round: Promise<void> | undefined;
  #roundEndedAt = Number.NEGATIVE_INFINITY;
  #unlisten: () => Promise<void> = async () => {};
  #reachable = true;
  #timer: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(options: KeyTableOptions) {
    this.#source = options.source;
    this.#path = options.path;
    this.#log = options.log;
    this.#clock = options.clock;
    this.#readMsMax = options.readMsMax ?? accessLimits.keysReadMsMax;
    this.#refreshMs = options.refreshMs ?? accessLimits.keysAgeMsMax / 2 - accessLimits.keysReadMsMax;
  }

  async open(): Promise<void> {
    this.#take(readSavedKeys(this.#path, this.#log));
    this.#unlisten = this.#source.listen(() => void this.#refresh());
    // Told or not, nothing here gets older than it may.
    this.#timer = setInterval(() => void this.#refresh(), this.#refreshMs);
    this.#timer.unref();
    await this.#refresh();
  }

  find(key: string): number | undefined {
    return this.#keys.get(key)?.id;
  }

  records(project_id: number): boolean {
    return this.#recording.has(project_id);
  }

  cookieless(project_id: number): CookielessSetting {
    return this.#cookieless.get(project_id) ?? usualCookieless;
  }

  async admit(key: string): Promise<number> {
    const trimmed = key.trim();
    const wrong = misshapenKey(trimmed);
    if (wrong) throw new Fault("invalid_api_key", `Provided API key is not valid: ${wrong}`);
    const known = this.find(trimmed);
    if (known !== undefined) return known;
    if (this.#closed || this.#asked.size >= accessLimits.keysAskedMax) throw unavailable();
    this.#asked.add(trimmed);
    await (this.#round ??= this.#lookUp());
    const found = this.find(trimmed);
    if (found === undefined) throw new Fault("invalid_api_key", unknownKey);
    return found;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    // Postgres may be gone already; there is nothing left to stop listening to then.
    await withinMs(this.#unlisten(), this.#readMsMax).catch(() => {});
    await this.#reads;
  }

  /** Reads the whole table. A refresh asked for while another waits its turn is that one; never rejects. */
  #refresh(): Promise<void> {
    if (this.#refreshQueued || this.#closed) return this.#reads;
    this.#refreshQueued = true;
    return this.#inTurn(async () => {
      this.#refreshQueued = false;
      const entries = await this.#ask(() => this.#source.all());
      const keys = new Map(entries.map((entry) => [entry.api_token, entry]));
      const changed = !sameKeys(keys, this.#keys);
      this.#take(keys);
      if (changed) await this.#save();
    }).catch(() => {});
  }

  /** One round for all unknown keys that came before it starts. */
  async #lookUp(): Promise<void> {
    await this.#reads;
    const wait = this.#roundEndedAt + accessLimits.keysReadGapMsMin - this.#clock.elapsed();
    if (wait > 0) await sleep(Math.min(wait, accessLimits.keysReadGapMsMin));
    await this.#inTurn(async () => {
      const asked = [...this.#asked];
      this.#asked.clear();
      this.#round = undefined;
      try {
        const entries = await this.#ask(() => this.#source.some(asked));
        for (const entry of entries) this.#keys.set(entry.api_token, entry);
        this.#take(this.#keys);
        if (entries.length > 0) await this.#save();
      } catch {
        throw unavailable();
      } finally {
        this.#roundEndedAt = this.#clock.elapsed();
      }
    });
  }

  #take(keys: Map<string, KeyEntry>): void {
    this.#keys = keys;
    this.#recording = new Set([...keys.values()].filter(({ records }) => records).map(({ id }) => id));
    const unusual = [...keys.values()].filter(
      (entry) => !Bun.deepEquals(cookielessOf(entry), usualCookieless),
    );
    this.#cookieless = new Map(unusual.map((entry) => [entry.id, cookielessOf(entry)]));
  }

  #inTurn(read: () => Promise<void>): Promise<void> {
    const turn = this.#reads.then(read);
    this.#reads = turn.catch(() => {});
    return turn;
  }

  async #ask(question: () => Promise<KeyEntry[]>): Promise<KeyEntry[]> {
    try {
      const entries = await withinMs(question(), this.#readMsMax);
      if (!this.#reachable) this.#log.info("project keys are read from Postgres again");
      this.#reachable = true;
      return entries;
    } catch (reason) {
      this.#away(reason);
      throw reason;
    }
  }

  #away(reason: unknown): void {
    if (this.#reachable && !this.#closed) {
      const fields = { known_keys: this.#keys.size, reason: reasonOf(reason) };
      this.#log.warn("project keys cannot be read from Postgres; known ones go on", fields);
    }
    this.#reachable = false;
  }

  async #save(): Promise<void> {
    try {
      await saveKeys(this.#path, this.#keys);
    } catch (reason) {
      this.#log.warn("project keys could not be saved", { path: this.#path, reason: reasonOf(reason) });
    }
  }
}

const unknownKey =
  "Project API key invalid: no project has it. GET /api/projects/ lists the keys of your projects.";

function unavailable(): Fault {
  const detail = "This project API key cannot be checked at the moment. Please retry.";
  return new Fault("unavailable", detail, { retryAfterSeconds: 2 });
}

type Keys = ReadonlyMap<string, KeyEntry>;

function sameKeys(left: Keys, right: Keys): boolean {
  if (left.size !== right.size) return false;
  for (const [key, entry] of left) {
    const other = right.get(key);
    if (!other || !Bun.deepEquals(savedEntry(other), savedEntry(entry))) return false;
  }
  return true;
}

const usualCookieless: CookielessSetting = { enabled: true, timezone: "UTC" };

function cookielessOf({ cookieless = true, timezone = "UTC" }: KeyEntry): CookielessSetting {
  return { enabled: cookieless, timezone };
}

/** A key's project as it is saved. */
function savedEntry({ id, records = false, cookieless = true, timezone = "UTC" }: KeyEntry) {
  return { id, records, cookieless, timezone };
}

/** What savedEntry() made; undefined for anything else. */
function readEntry(api_token: string, saved: unknown): KeyEntry | undefined {
  if (typeof saved !== "object" || saved === null) return undefined;
  const { id, records, cookieless, timezone } = saved as Record<string, unknown>;
  if (typeof id !== "number" || !Number.isInteger(id) || typeof timezone !== "string") return undefined;
  return { api_token, id, records: records === true, cookieless: cookieless === true, timezone };
}

function readSavedKeys(path: string, log: Log): Map<string, KeyEntry> {
  try {
    const saved = readSummedJson(readFileSync(path, "utf8"));
    const keys = new Map<string, KeyEntry>();
    for (const [api_token, project] of Object.entries(saved["keys"] ?? {}) as [string, unknown][]) {
      const entry = readEntry(api_token, project);
      if (entry) keys.set(api_token, entry);
    }
    return keys;
  } catch (reason) {
    const missing = reason instanceof Error && "code" in reason && reason.code === "ENOENT";
    if (!missing) log.warn("the saved project keys are unreadable", { path, reason: reasonOf(reason) });
    return new Map();
  }
}

/** A reader of `path` sees the old table or this one, whatever dies in between. */
async function saveKeys(path: string, keys: Keys): Promise<void> {
  const saved = [...keys.values()].map((entry) => [entry.api_token, savedEntry(entry)]);
  const fresh = `${path}.fresh`;
  const file = await open(fresh, "w", 0o600);
  try {
    await file.writeFile(summedJson({ keys: Object.fromEntries(saved) }));
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
}

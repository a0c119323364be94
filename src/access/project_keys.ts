// The capture keys, in memory: the project of a key is found without reading a store. A known key stays known while
// Postgres is unavailable; a key is unknown only after Postgres was read.

import { readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { sleep, withinMs } from "../core/clock.ts";
import { Fault, unavailable } from "../core/fault.ts";
import { wrongKey } from "../core/id.ts";
import { toMembers } from "../core/json/dictionary.ts";
import { readSummedJson, summedJson } from "../core/json/summed_json.ts";
import { limits } from "../core/limits.ts";
import { type Log, toCode, toReason } from "../core/log.ts";
import type { Uses } from "../storage/services.ts";
import { accessLimits } from "./limits.ts";
import { type KeyEntry, type ProjectKeySource, projectKeySource } from "./project_key_store.ts";

export type ProjectKeys = Omit<KeyTable, "open">;

export interface CookielessSetting {
  enabled: boolean;
  /** The project's time zone, for events that name none. */
  timezone: string;
}

/**
 * Opens the table: the saved one first, then Postgres's if it answers within `accessLimits.keysReadMsMax`.
 * @param options `database`: the id of the database whose keys these are; undefined while it is not known. Keys of
 *   another database are not used, since its projects have the same numbers.
 */
export function openProjectKeys({
  sql,
  database,
  ...options
}: Omit<KeyTableOptions, "source"> & Uses<"sql"> & { database(): string | undefined }): Promise<ProjectKeys> {
  return openKeyTable({ source: projectKeySource(sql, database), ...options });
}

export interface KeyTableOptions extends Uses<"clock" | "log"> {
  source: ProjectKeySource;
  /** File into which the table is saved, so that capture starts while Postgres is unavailable. */
  path: string;
  /** Half of the age that the table may reach, in ms: a read that fails is repeated once before that. */
  refreshMs?: number;
  readMsMax?: number;
}

/** A table of keys from any source, with its own intervals; openProjectKeys() reads Postgres. */
export async function openKeyTable(options: KeyTableOptions): Promise<ProjectKeys> {
  const table = new KeyTable(options);
  await table.open();
  return table;
}

/** Why a text cannot be a project key, without a look-up; undefined when it may be one. */
export function misshapenKey(key: string): string | undefined {
  if (key === "") return "empty";
  if (Buffer.byteLength(key) > limits.projectKeyBytesMax) return "too_long";
  if (key.includes("\0")) return "null_byte";
  if (!/^\p{ASCII}*$/u.test(key)) return "not_ascii";
  if (key.startsWith("phx_")) return "personal_api_key";
  return undefined;
}

/** Why a project cannot be given this key, for the person who chose it; undefined when it can. */
export function wrongProjectKey(key: string): string | undefined {
  const reason = misshapenKey(key);
  if (reason === "personal_api_key") return "must not begin with phx_, as personal API keys do";
  return reason === undefined ? wrongKey(key) : "must be 8 to 64 visible ASCII characters";
}

class KeyTable {
  readonly #options: Required<KeyTableOptions>;
  #keys = new Map<string, KeyEntry>();
  /** Keyed by project. */
  #settings: ReadonlyMap<number, ReturnType<typeof toSetting>> = new Map();
  /** Reads follow each other, so that an older answer never overwrites a newer one. */
  #reads: Promise<void> = Promise.resolve();
  #refreshQueued = false;
  /** Unknown keys waiting for the next round of look-ups. */
  #unknown = new Set<string>();
  #round: Promise<void> | undefined;
  #roundEndedAt = Number.NEGATIVE_INFINITY;
  #unlisten: () => Promise<void> = async () => {};
  #reachable = true;
  #timer: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(options: KeyTableOptions) {
    const { keysReadMsMax: readMsMax, keysAgeMsMax } = accessLimits;
    this.#options = { readMsMax, refreshMs: keysAgeMsMax / 2 - readMsMax, ...options };
  }

  async open(): Promise<void> {
    const { source, path, log, refreshMs } = this.#options;
    this.#replace(readSavedKeys(path, log));
    this.#unlisten = source.listen(() => void this.#refresh());
    // Reads the table again even when no change is reported.
    this.#timer = setInterval(() => void this.#refresh(), refreshMs);
    this.#timer.unref();
    await this.#refresh();
  }

  /** The project of a known key; for the hot path. */
  find(key: string): number | undefined {
    return this.#keys.get(key)?.id;
  }

  /** Whether a project records sessions; for a project whose key was found or admitted. */
  records(project_id: number): boolean {
    return this.#settings.get(project_id)?.records ?? false;
  }

  /** Whether its recordings have what pages write to the console; for a project as above. */
  recordsConsole(project_id: number): boolean {
    return this.#settings.get(project_id)?.recordsConsole ?? false;
  }

  /** How a project handles cookieless events; for a project whose key was found or admitted. */
  cookieless(project_id: number): CookielessSetting {
    return this.#settings.get(project_id)?.cookieless ?? usualCookieless;
  }

  /** How many events a project may send in a day, infinitely many by default; for a project as above. */
  dailyEventQuota(project_id: number): number {
    return this.#settings.get(project_id)?.dailyEventQuota ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The project of a key; Postgres is read when the key is not known yet.
   * @throws Fault invalid_api_key when the key is malformed or no project has it, unavailable when Postgres cannot be
   * read.
   */
  async admit(key: string): Promise<number> {
    const trimmed = key.trim();
    const wrong = misshapenKey(trimmed);
    if (wrong) throw new Fault("invalid_api_key", `Provided API key is not valid: ${wrong}`);
    const known = this.find(trimmed);
    if (known !== undefined) return known;
    if (this.#closed || this.#unknown.size >= accessLimits.keysAskedMax) throw unchecked();
    this.#unknown.add(trimmed);
    await (this.#round ??= this.#findUnknown());
    const found = this.find(trimmed);
    if (found === undefined) throw new Fault("invalid_api_key", unknownKey);
    return found;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    // Postgres may have stopped already: then there is nothing to stop listening to.
    await withinMs(this.#unlisten(), this.#options.readMsMax).catch(() => {});
    await this.#reads;
  }

  /** Reads the whole table; calls while a read is queued share it. Does not reject. */
  #refresh(): Promise<void> {
    if (this.#refreshQueued || this.#closed) return this.#reads;
    this.#refreshQueued = true;
    return this.#inTurn(async () => {
      this.#refreshQueued = false;
      const entries = await this.#query(() => this.#options.source.all());
      const keys = new Map(entries.map((entry) => [entry.api_token, entry]));
      const changed = !Bun.deepEquals(savedKeys(keys), savedKeys(this.#keys));
      this.#replace(keys);
      if (changed) await this.#save();
    }).catch(() => {});
  }

  /** One look-up for all unknown keys that arrived before it starts. */
  async #findUnknown(): Promise<void> {
    await this.#reads;
    const { source, clock } = this.#options;
    const wait = this.#roundEndedAt + accessLimits.keysReadGapMsMin - clock.elapsed();
    if (wait > 0) await sleep(Math.min(wait, accessLimits.keysReadGapMsMin));
    await this.#inTurn(async () => {
      const unknown = [...this.#unknown];
      this.#unknown.clear();
      this.#round = undefined;
      try {
        const entries = await this.#query(() => source.some(unknown));
        for (const entry of entries) this.#keys.set(entry.api_token, entry);
        this.#replace(this.#keys);
        if (entries.length > 0) await this.#save();
      } catch {
        throw unchecked();
      } finally {
        this.#roundEndedAt = clock.elapsed();
      }
    });
  }

  #replace(keys: Map<string, KeyEntry>): void {
    this.#keys = keys;
    this.#settings = new Map([...keys.values()].map((entry) => [entry.id, toSetting(entry)]));
  }

  #inTurn(read: () => Promise<void>): Promise<void> {
    const done = this.#reads.then(read);
    this.#reads = done.catch(() => {});
    return done;
  }

  async #query(question: () => Promise<KeyEntry[]>): Promise<KeyEntry[]> {
    const { log, readMsMax } = this.#options;
    try {
      const entries = await withinMs(question(), readMsMax);
      if (!this.#reachable) log.info("project keys are read from Postgres again");
      this.#reachable = true;
      return entries;
    } catch (reason) {
      const about = { known_keys: this.#keys.size, reason: toReason(reason) };
      if (this.#reachable && !this.#closed)
        log.warn("project keys cannot be read from Postgres; known ones keep working", about);
      this.#reachable = false;
      throw reason;
    }
  }

  /** A reader of the path sees the old table or the new one, even after a crash. */
  async #save(): Promise<void> {
    const { path, log } = this.#options;
    try {
      const fresh = `${path}.fresh`;
      await writeFile(fresh, summedJson({ keys: savedKeys(this.#keys) }), { mode: 0o600, flush: true });
      await rename(fresh, path);
    } catch (reason) {
      log.warn("project keys could not be saved", { path, reason: toReason(reason) });
    }
  }
}

const unknownKey =
  "Project API key invalid: no project has it. GET /api/projects/ lists the keys of your projects.";

const unchecked = () => unavailable("This project API key cannot be checked at the moment. Please retry.", 2);

const usualCookieless: CookielessSetting = { enabled: true, timezone: "UTC" };

function toSetting({ records, records_console, cookieless, timezone, daily_event_quota }: KeyEntry) {
  const dailyEventQuota = daily_event_quota ?? Number.POSITIVE_INFINITY;
  return {
    records,
    recordsConsole: records_console,
    cookieless: { enabled: cookieless, timezone },
    dailyEventQuota,
  };
}

function savedKeys(keys: ReadonlyMap<string, KeyEntry>) {
  return Object.fromEntries([...keys.values()].map(({ api_token, ...saved }) => [api_token, saved]));
}

/** The entry that savedKeys() wrote; undefined for anything else. */
function readEntry(api_token: string, saved: unknown): KeyEntry | undefined {
  const { id, records, records_console, cookieless, timezone, daily_event_quota } = toMembers(saved);
  if (typeof id !== "number" || !Number.isInteger(id) || typeof timezone !== "string") return undefined;
  const quota = typeof daily_event_quota === "number" ? daily_event_quota : null;
  // Tables of older versions do not say it.
  const recordsConsole = records_console !== false;
  const flags = {
    records: records === true,
    records_console: recordsConsole,
    cookieless: cookieless === true,
  };
  return { api_token, id, ...flags, timezone, daily_event_quota: quota };
}

function readSavedKeys(path: string, log: Log): Map<string, KeyEntry> {
  try {
    const saved = readSummedJson(readFileSync(path, "utf8"));
    const entries = Object.entries(saved["keys"] ?? {}).map(([token, project]) => readEntry(token, project));
    return new Map(entries.flatMap((entry) => (entry ? [[entry.api_token, entry]] : [])));
  } catch (reason) {
    if (toCode(reason) !== "ENOENT")
      log.warn("the saved project keys are unreadable", { path, reason: toReason(reason) });
    return new Map();
  }
}

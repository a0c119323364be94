import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessLimits } from "../../src/access/limits.ts";
import type { KeyEntry, ProjectKeySource } from "../../src/access/project_key_store.ts";
import {
  type KeyTableOptions,
  misshapenKey,
  openKeyTable,
  type ProjectKeys,
} from "../../src/access/project_keys.ts";
import { systemClock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { readSummedJson } from "../../src/core/json/summed_json.ts";
import { limits } from "../../src/core/limits.ts";
import { openLog, silentLog } from "../../src/core/log.ts";

let folder: string;
let path: string;
const open: ProjectKeys[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-keys-"));
  path = join(folder, "project_keys.json");
});

afterEach(async () => {
  for (const table of open.splice(0)) await table.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The settings of a new project. */
const usual = {
  records: false,
  records_console: true,
  cookieless: true,
  timezone: "UTC",
  daily_event_quota: null,
};

/** A Postgres that is a map, can go away, and can be made to wait. */
class FakeSource implements ProjectKeySource {
  readonly keys = new Map<string, number>();
  readonly asked: string[][] = [];
  reads = 0;
  away = false;
  gate: Promise<void> = Promise.resolve();
  changed: () => void = () => {};
  #awaited: { reads: number; resolve: () => void }[] = [];

  async all(): Promise<KeyEntry[]> {
    this.reads += 1;
    const entries = [...this.keys].map(([api_token, id]) => ({ api_token, id, ...usual }));
    for (const { reads, resolve } of this.#awaited) if (this.reads >= reads) resolve();
    await this.gate;
    if (this.away) throw new Error("connect ECONNREFUSED");
    return entries;
  }

  async some(keys: string[]): Promise<KeyEntry[]> {
    this.asked.push(keys);
    await this.gate;
    if (this.away) throw new Error("connect ECONNREFUSED");
    return keys.flatMap((api_token) => {
      const id = this.keys.get(api_token);
      return id === undefined ? [] : [{ api_token, id, ...usual }];
    });
  }

  listen(changed: () => void): () => Promise<void> {
    this.changed = changed;
    return async () => {
      this.changed = () => {};
      if (this.away) throw new Error("connect ECONNREFUSED");
    };
  }

  /** Resolves when the table is read for the `reads`-th time. */
  read(reads: number): Promise<void> {
    if (this.reads >= reads) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.push({ reads, resolve });
    return promise;
  }
}

async function openTable(
  source: ProjectKeySource,
  options: Partial<KeyTableOptions> = {},
): Promise<ProjectKeys> {
  const table = await openKeyTable({ source, path, log: silentLog, clock: systemClock, ...options });
  open.push(table);
  return table;
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const reason: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (reason instanceof Fault) return reason;
  throw new Error(`expected a fault, got ${String(reason)}`);
}

test("a key is misshapen when it is empty, too long, not ASCII, or a personal key", () => {
  expect(misshapenKey("")).toBe("empty");
  expect(misshapenKey("a".repeat(limits.projectKeyBytesMax))).toBeUndefined();
  expect(misshapenKey("a".repeat(limits.projectKeyBytesMax + 1))).toBe("too_long");
  expect(misshapenKey("phc_ä")).toBe("not_ascii");
  expect(misshapenKey("phc_\0")).toBe("null_byte");
  expect(misshapenKey("phx_abc")).toBe("personal_api_key");
});

test("a misshapen key is refused without asking Postgres", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  const fault = await faultOf(table.admit(" phx_secret "));
  expect(fault.code).toBe("invalid_api_key");
  expect(fault.detail).toBe("Provided API key is not valid: personal_api_key");
  expect(source.asked).toEqual([]);
});

test("a key that Postgres had at the start is found without asking again", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  const table = await openTable(source);
  expect(table.find("phc_one")).toBe(1);
  expect(await table.admit(" phc_one ")).toBe(1);
  expect(source.asked).toEqual([]);
});

test("a key made later is found by asking Postgres, and known from then on", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  source.keys.set("phc_late", 7);
  expect(table.find("phc_late")).toBeUndefined();
  expect(await table.admit("phc_late")).toBe(7);
  expect(table.find("phc_late")).toBe(7);
});

test("a key that no project has is refused, and one made after that is admitted", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  const fault = await faultOf(table.admit("phc_nobody"));
  expect(fault.code).toBe("invalid_api_key");
  expect(fault.detail).not.toContain("phc_nobody");
  source.keys.set("phc_nobody", 3);
  expect(await table.admit("phc_nobody")).toBe(3);
});

test("unknown keys that arrive while one is looked up are looked up together", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  const { promise, resolve } = Promise.withResolvers<void>();
  source.gate = promise;
  const first = table.admit("phc_a").catch(() => "refused");
  while (source.asked.length === 0) await Promise.resolve();
  source.keys.set("phc_c", 3);
  const rest = ["phc_b", "phc_c", "phc_b"].map((key) => table.admit(key).catch(() => "refused"));
  resolve();
  expect(await first).toBe("refused");
  expect(await Promise.all(rest)).toEqual(["refused", 3, "refused"]);
  expect(source.asked).toEqual([["phc_a"], ["phc_b", "phc_c"]]);
});

test("more unknown keys at once than one read may have are refused with a time to retry", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  const { promise, resolve } = Promise.withResolvers<void>();
  source.gate = promise;
  const first = table.admit("phc_first").catch(() => {});
  while (source.asked.length === 0) await Promise.resolve();
  const waiting = Array.from({ length: accessLimits.keysAskedMax }, (_, i) =>
    table.admit(`phc_${i}`).catch(() => {}),
  );
  const fault = await faultOf(table.admit("phc_last"));
  expect(fault.code).toBe("unavailable");
  resolve();
  await Promise.all([first, ...waiting]);
});

test("while Postgres is unavailable known keys work and unknown ones are refused with a time to retry", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  const table = await openTable(source);
  source.away = true;
  expect(await table.admit("phc_one")).toBe(1);
  const fault = await faultOf(table.admit("phc_new"));
  expect(fault.code).toBe("unavailable");
  expect(fault.retryAfterSeconds).toBeGreaterThan(0);
});

test("a Postgres that never answers is like one that is unavailable", async () => {
  const source = new FakeSource();
  const table = await openTable(source, { readMsMax: 1 });
  source.gate = new Promise(() => {});
  expect((await faultOf(table.admit("phc_new"))).code).toBe("unavailable");
});

test("the table starts from its file while Postgres is unavailable", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  await (await openTable(source)).close();
  const away = new FakeSource();
  away.away = true;
  const table = await openTable(away);
  expect(table.find("phc_one")).toBe(1);
});

test("the file is replaced whole and leaves nothing beside it", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  const table = await openTable(source);
  source.keys.set("__proto__", 2);
  await table.admit("__proto__");
  expect(readdirSync(folder)).toEqual(["project_keys.json"]);
  const { keys } = readSummedJson(readFileSync(path, "utf8"));
  expect(Object.entries(keys as object)).toEqual([
    ["phc_one", { id: 1, ...usual }],
    ["__proto__", { id: 2, ...usual }],
  ]);
});

test("a file that cannot be read is reported and counts as empty", async () => {
  writeFileSync(path, '{"phc_one":');
  const lines: string[] = [];
  const source = new FakeSource();
  source.away = true;
  const log = openLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });
  const table = await openTable(source, { log });
  expect(table.find("phc_one")).toBeUndefined();
  expect(lines.filter((line) => line.includes("unreadable"))).toHaveLength(1);
});

test("no damaged byte of the file makes a key another project's", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  source.keys.set("phc_two", 27);
  await (await openTable(source)).close();
  const whole = readFileSync(path);
  const away = new FakeSource();
  away.away = true;
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole);
    bytes[at]! ^= 1 << (at % 8);
    writeFileSync(path, bytes);
    const table = await openTable(away);
    expect([1, undefined]).toContain(table.find("phc_one"));
    expect([27, undefined]).toContain(table.find("phc_two"));
    await table.close();
  }
});

test("the setting for events without a cookie is known with the key, even if Postgres was never available", async () => {
  const source = new FakeSource();
  const settings = {
    phc_off: { enabled: false, timezone: "UTC" },
    phc_east: { enabled: true, timezone: "Asia/Tokyo" },
    phc_usual: { enabled: true, timezone: "UTC" },
  };
  for (const [i, key] of Object.keys(settings).entries()) source.keys.set(key, i + 1);
  const all = source.all.bind(source);
  source.all = async () =>
    (await all()).map((entry) => {
      const { enabled, timezone } = settings[entry.api_token as keyof typeof settings];
      return { ...entry, records: entry.id === 2, cookieless: enabled, timezone };
    });
  const told = (table: ProjectKeys) => [1, 2, 3].map((id) => table.cookieless(id));
  const table = await openTable(source);
  expect(told(table)).toEqual(Object.values(settings));
  await table.close();
  const away = new FakeSource();
  away.away = true;
  const later = await openTable(away);
  expect(told(later)).toEqual(Object.values(settings));
  expect([1, 2, 3].map((id) => later.records(id))).toEqual([false, true, false]);
  await later.close();
});

test("a notification from Postgres ends deleted keys and adds new ones", async () => {
  const source = new FakeSource();
  source.keys.set("phc_old", 1);
  const table = await openTable(source);
  source.keys.delete("phc_old");
  source.keys.set("phc_new", 2);
  source.changed();
  // Look-ups wait for reads that were asked for before them.
  await table.admit("phc_other").catch(() => {});
  expect(table.find("phc_old")).toBeUndefined();
  expect(table.find("phc_new")).toBe(2);
});

test("a notification during a read of the table leads to another read", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  source.keys.set("phc_one", 1);
  const { promise, resolve } = Promise.withResolvers<void>();
  source.gate = promise;
  const before = source.reads;
  source.changed();
  await source.read(before + 1);
  source.keys.delete("phc_one");
  source.changed();
  resolve();
  await table.admit("phc_other").catch(() => {});
  expect(source.reads).toBe(before + 2);
  expect(table.find("phc_one")).toBeUndefined();
});

test("the table is read again when it is old, without a notification", async () => {
  const source = new FakeSource();
  await openTable(source, { refreshMs: 1 });
  await source.read(5);
  expect(source.reads).toBeGreaterThanOrEqual(5);
});

test("Postgres becoming unavailable and available again is reported once each", async () => {
  const lines: string[] = [];
  const log = openLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const source = new FakeSource();
  source.away = true;
  await openTable(source, { log, refreshMs: 1 });
  await source.read(5);
  source.away = false;
  const reads = source.reads;
  await source.read(reads + 3);
  expect(lines.filter((line) => line.includes("cannot be read"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("again"))).toHaveLength(1);
});

test("a table closes while Postgres is unavailable", async () => {
  const source = new FakeSource();
  const table = await openTable(source);
  source.away = true;
  await table.close();
  await table.close();
});

test("a closed table still finds keys, and reads nothing", async () => {
  const source = new FakeSource();
  source.keys.set("phc_one", 1);
  const table = await openTable(source);
  await table.close();
  expect(await table.admit("phc_one")).toBe(1);
  expect((await faultOf(table.admit("phc_new"))).code).toBe("unavailable");
  expect(source.asked).toEqual([]);
});

// `sluice doctor`: one page with what is wrong, and what to do.

import { existsSync, readdirSync, statfsSync } from "node:fs";
import { join, resolve } from "node:path";
import { countUnreadable } from "../access/reseal_store.ts";
import { lostKeyRemedy, openSecrets } from "../access/secret.ts";
import { captureSetup, readKnownStores } from "../capture/capture_journal.ts";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { computeReserve } from "../capture/journal/quota.ts";
import { leftBehind } from "../capture/workers/worker_pool.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { jsonIn, toMembers } from "../core/json/dictionary.ts";
import { limits } from "../core/limits.ts";
import { openLog, toReason } from "../core/log.ts";
import { readBuild } from "../core/version.ts";
import { checkIdentity } from "../storage/identity.ts";
import { storageLimits } from "../storage/limits.ts";
import { FolderInUse, ownDataDir, readOwner, refuseFile, refuseHalfRestored } from "../storage/lock.ts";
import { pendingMigrations } from "../storage/migrate.ts";
import { refuseNewerFolder } from "../storage/migrations/folder_version.ts";
import { attachStores, checkClickHouse } from "../storage/stores.ts";
import { readSilences } from "../storage/watermark.ts";
import { checkPositionals, readArguments } from "./args.ts";
import type { CliContext, Command } from "./command.ts";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "report problems of settings, disk, stores, journal and server, with remedies",
  help: `usage: bun run sluice doctor [--json]

Checks the settings, DATA_DIR and its volume, both stores, pending and quarantined events, and the server, if one runs.
Changes nothing. Exit code 1 when something is wrong, else 0.

  --json  one line of JSON per finding: {"part", "state": "ok" | "note" | "wrong", "text", "remedy"}

  DATABASE_URL=postgres://… CLICKHOUSE_URL=http://… SECRET_KEY=… bun run sluice doctor`,
  run,
};

interface Finding {
  part: "settings" | "disk" | "server" | "stores" | "journal";
  /** note: nothing is wrong yet. */
  state: "ok" | "note" | "wrong";
  text: string;
  remedy?: string;
}

const finding =
  (state: Finding["state"]) =>
  (part: Finding["part"], text: string, remedy?: string): Finding =>
    remedy === undefined ? { part, state, text } : { part, state, text, remedy };
const [ok, remark, wrong] = [finding("ok"), finding("note"), finding("wrong")];

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  const words = readArguments(args, [], ["json"]);
  checkPositionals(words, 0);
  const isJson = words.values["json"] === true;
  const dataDir = resolve(config.dataDir);
  if (!isJson) print(`sluice ${readBuild()}, DATA_DIR ${dataDir}\n`);
  let exitCode = 0;
  for await (const found of examine(config, dataDir)) {
    print(isJson ? JSON.stringify(found) : formatFinding(found));
    if (found.state === "wrong") exitCode = 1;
  }
  return exitCode;
}

async function* examine(config: Config, dataDir: string): AsyncGenerator<Finding> {
  yield* settingsFindings(config);
  const { owner, problem } = examineFolder(dataDir);
  if (problem) return yield problem;
  yield diskFinding(dataDir);
  yield* serverFindings(config, owner);
  yield* storeFindings(config, dataDir);
  yield* journalFindings(dataDir);
}

function formatFinding({ part, state, text, remedy }: Finding): string {
  const line = `${state.padEnd(6)}${part.padEnd(10)}${text}`;
  return remedy === undefined ? line : `${line}\n${" ".repeat(16)}→ ${remedy}`;
}

function settingsFindings(config: Config): Finding[] {
  const serve = "bun run sluice serve";
  const findings = config.misspelt.map(([name, setting]) =>
    wrong("settings", `${name} is no setting`, `remove it, or: ${setting}=VALUE ${serve}`),
  );
  const isPublic = !["127.0.0.1", "::1", "localhost"].includes(config.host);
  if (isPublic && config.siteUrl === undefined) {
    const text = `others can reach ${config.host}, and SITE_URL is not set: links begin with the Host of a request`;
    findings.push(remark("settings", text, `set people's address: SITE_URL=https://HOST ${serve}`));
  }
  if (isPublic && config.metricsToken === undefined) {
    const text = "anyone who reaches the server can read /metrics";
    const remedy = `block it in the proxy, or set a token: METRICS_TOKEN=$(openssl rand -hex 16) ${serve}`;
    findings.push(remark("settings", text, remedy));
  }
  return findings.length > 0 ? findings : [ok("settings", "every setting is known and has a valid value")];
}

type Owner = ReturnType<typeof readOwner>;

/** Who owns the folder; or why every start refuses it: nothing else matters until then. */
function examineFolder(dataDir: string): { owner?: Owner; problem?: Finding } {
  try {
    refuseFile(dataDir);
    refuseHalfRestored(dataDir);
    refuseNewerFolder(dataDir);
    if (existsSync(dataDir)) ownDataDir(dataDir).release();
    return {};
  } catch (thrown) {
    if (thrown instanceof FolderInUse) return { owner: readOwner(dataDir) };
    return { problem: wrong("disk", toReason(thrown)) };
  }
}

function diskFinding(dataDir: string): Finding {
  if (!existsSync(dataDir)) return remark("disk", "DATA_DIR does not exist", "make it: bun run sluice serve");
  const { bavail, blocks, bsize } = statfsSync(dataDir);
  const [free, reserve] = [bavail * bsize, computeReserve(blocks * bsize)];
  const space = `${megabytes(free)} free of ${megabytes(blocks * bsize)}`;
  const text = `${space}; captures are refused below ${megabytes(reserve)}`;
  if (free >= 2 * reserve) return ok("disk", text);
  return (free < reserve ? wrong : remark)("disk", text, spaceRemedy(dataDir));
}

async function* serverFindings(config: Config, owner: Owner | undefined): AsyncGenerator<Finding> {
  const { host, port } = config;
  const configured = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const url = (owner?.url ?? configured).replace(/\/\/(?:0\.0\.0\.0|\[::\])/, "//127.0.0.1");
  const readiness = await readReadiness(url);
  const pid = owner?.pid ?? "unknown";
  const again = `it starts, or hangs: see its log; to start it again: kill ${pid}, then: bun run sluice serve`;
  if (readiness === undefined) {
    if (!owner) return yield remark("server", `none answers at ${url}`, "start it: bun run sluice serve");
    return yield wrong("server", `none answers at ${url}, yet process ${pid} owns DATA_DIR`, again);
  }
  const lines = readiness.split("\n").filter((line) => line !== "");
  const found = lines.map((line) => partFinding(line, url, config));
  if (found.length === 0 || !found.every((part) => part !== undefined)) {
    const remedy = owner ? again : `stop that program, or: PORT=${port ^ 1} bun run sluice serve`;
    return yield wrong("server", `another program answers at ${url}`, remedy);
  }
  const bound = Number(new URL(url).port || 80);
  const text = `process ${pid} serves this DATA_DIR at ${url}, not at PORT ${port}`;
  const remedy = `start the server again with this PORT, or: PORT=${bound} bun run sluice doctor`;
  if (owner?.url !== undefined && port !== 0 && port !== bound) yield wrong("server", text, remedy);
  yield* found;
  yield* await pendingFinding(config, url);
}

/** Asked again while a part has not answered in time, as on a busy machine: a hung one does not later, either. */
async function readReadiness(url: string): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    const readiness = await textAt(`${url}/_readiness`);
    if (attempt === attemptsMax || !readiness?.includes('"error":"TIMEOUT"')) return readiness;
  }
}

/** With limits.healthMsMax for each attempt, some 10 s. */
const attemptsMax = 5;

/** Reads what the server answers; undefined when it does not. */
async function textAt(url: string, headers: Record<string, string> = {}): Promise<string | undefined> {
  const signal = AbortSignal.timeout(attemptsMax * limits.healthMsMax);
  return await fetch(url, { headers, signal, proxy: false })
    .then((reply) => reply.text())
    .catch(() => undefined);
}

/** Pending events: a project beyond its share of the journal is refused, although the journal is ready. */
async function pendingFinding({ metricsToken, journalBytesMax }: Config, url: string): Promise<Finding[]> {
  const headers = metricsToken === undefined ? undefined : { authorization: `Bearer ${metricsToken}` };
  const metrics = (await textAt(`${url}/metrics`, headers)) ?? "";
  const [, bytes] = /^sluice_journal_pending_bytes (\d+)$/m.exec(metrics) ?? [];
  if (bytes === undefined) return [];
  const text = `${megabytes(Number(bytes))} wait in the journal, which takes ${megabytes(journalBytesMax)}`;
  if (Number(bytes) < journalBytesMax / pendingDivisor) return [ok("journal", text)];
  const remedy = `a project past its share gets 503; see why ClickHouse stores less: curl ${url}/_readiness`;
  return [wrong("journal", text, remedy)];
}

/** Pending events may fill a third of the journal: one project, with nine tenths of what is free, fills nearly half. */
const pendingDivisor = 3;

/** Remedies by the code of `/_readiness`. */
const remedies: Readonly<Record<string, (config: Config) => string>> = {
  DISK_LOW: ({ dataDir }) => spaceRemedy(dataDir),
  JOURNAL_FULL: ({ journalBytesMax: bytes }) =>
    `see whether ClickHouse stores, or make room: JOURNAL_BYTES_MAX=${2 * bytes} bun run sluice serve`,
  JOURNAL_FAILING: ({ dataDir }) =>
    `writes fail; the disk's own error: dd if=/dev/zero of=${dataDir}/journal/check bs=4k count=1 conv=fsync`,
  REPLICA: ({ clickhouseUrl = "http://HOST:8123" }) =>
    `start it again; what its tables wait for: curl ${new URL(clickhouseUrl).origin}/replicas_status`,
};

function spaceRemedy(dataDir: string): string {
  return `free space on the volume; what uses it: du -sh ${dataDir}/* ${dataDir}/clickhouse/*`;
}

/** A line of `/_readiness`; undefined for one that is not. */
function partFinding(line: string, url: string, config: Config): Finding | undefined {
  const { part, ok: isReady, error, amiss } = toMembers(jsonIn(line));
  if (part === undefined || isReady === undefined) return undefined;
  const code = amiss && part === "clickhouse" ? "REPLICA" : String(error);
  const remedy = remedies[code]?.(config) ?? `see the server's log; all parts: curl ${url}/_readiness`;
  if (!isReady) return wrong("server", `${part} is not ready: ${error}`, remedy);
  return amiss ? remark("server", `${part}: ${amiss}`, remedy) : ok("server", `${part} is ready`);
}

async function* storeFindings(config: Config, dataDir: string): AsyncGenerator<Finding> {
  const log = openLog({ level: "silent", format: "json" });
  // The first start will create the stores.
  if (config.databaseUrl === undefined && !existsSync(dataDir)) return;
  try {
    const known = readKnownStores(dataDir);
    const opening = { ...config, dataDir, known, log, requireReachable: true, existing: true };
    await using stores = await attachStores(opening);
    const { sql, clickhouse } = stores;
    await checkIdentity(sql, clickhouse, known);
    const amiss = await checkClickHouse(clickhouse);
    if (amiss) yield wrong("stores", `ClickHouse: ${amiss}`, remedies["REPLICA"]?.(config));
    const pending = Object.values(await pendingMigrations(stores, log)).flat();
    const waits = pending.filter(({ olderGoOn }) => !olderGoOn).length;
    const missing = `${pending.length} migrations are missing; older servers must stop for ${waits} of them`;
    const remedy = "the next start applies them; a list: bun run sluice migrate --check";
    if (pending.length > 0) yield remark("stores", missing, remedy);
    else yield ok("stores", "both answer, their tables are those of this version");
    // Opening secrets without a key makes one.
    const hasKey = config.secretKey !== undefined || existsSync(join(dataDir, "secret.key"));
    const unreadable = await countUnreadable(sql, hasKey ? openSecrets({ ...config, dataDir }).keyIds : []);
    if (unreadable > 0)
      yield wrong("stores", `no key opens ${unreadable} of the stored secrets`, lostKeyRemedy);
    for (const [journal, seconds] of pending.length > 0 ? [] : await readSilences(sql, systemClock.now())) {
      if (seconds * 1000 < storageLimits.journalUnseenMsMax) continue;
      const text = `the server of the journal ${journal} last reported ${Math.round(seconds / 60)} minutes ago`;
      yield remark("journal", text, silentRemedy);
    }
  } catch (thrown) {
    yield brokenStores(thrown);
  }
}

const silentRemedy =
  "its journal is not stored yet; unless it was stopped permanently, start it there: bun run sluice serve";

function brokenStores(thrown: unknown): Finding {
  const reason = toReason(thrown);
  // Other refusals have their remedy.
  if (thrown instanceof UserError && !/ (?:did not start|does not answer|could not be made): /.test(reason))
    return wrong("stores", reason);
  const remedy = reason.includes("embedded")
    ? "see the server's log; where files are damaged, put this journal in the place of a restored one's, after: " +
      "DATA_DIR=NEW bun run sluice restore BACKUP"
    : "start what does not answer, or correct its settings, then: bun run sluice doctor";
  return wrong("stores", reason, remedy);
}

function* journalFindings(dataDir: string): Generator<Finding> {
  if (!existsSync(join(dataDir, "journal"))) return;
  try {
    const refused = new Quarantine(captureSetup, dataDir).count;
    const damaged = [dataDir, ...leftBehind(dataDir, 1)]
      .map((folder) => join(folder, "journal"))
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".damaged")));
    if (refused > 0) {
      const remedy = "bun run sluice journal list has the reasons; then: bun run sluice journal retry all";
      yield wrong("journal", `${refused} events are in quarantine`, remedy);
    }
    if (damaged.length > 0) {
      const remedy = `their sound part was stored; check the disk, then: mv ${dataDir}/journal/*.damaged ELSEWHERE`;
      yield remark("journal", `${damaged.length} damaged files were set aside`, remedy);
    }
    if (refused + damaged.length === 0) yield ok("journal", "nothing is in quarantine or damaged");
  } catch (thrown) {
    yield wrong("journal", toReason(thrown), "as the server's user: bun run sluice doctor");
  }
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1e6).toLocaleString("en-US")} MB`;
}

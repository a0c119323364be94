// `sluice doctor`: one page with what is wrong, and what to do.

import { existsSync, readdirSync, statfsSync } from "node:fs";
import { join, resolve } from "node:path";
import { countUnreadable, lostKeyRemedy } from "../access/reseal_store.ts";
import { openSecrets } from "../access/secret.ts";
import { captureSetup } from "../capture/capture_journal.ts";
import { Quarantine } from "../capture/journal/quarantine.ts";
import { reserveOf } from "../capture/journal/quota.ts";
import { readKnownStores } from "../capture/open_journal.ts";
import { leftBehind } from "../capture/workers/worker_pool.ts";
import type { Config } from "../config.ts";
import { systemClock } from "../core/clock.ts";
import { UserError } from "../core/fault.ts";
import { jsonIn, membersOf } from "../core/json/dictionary.ts";
import { limits } from "../core/limits.ts";
import { openLog, reasonOf } from "../core/log.ts";
import { readBuild } from "../core/version.ts";
import { checkIdentity, type KnownStores } from "../storage/identity.ts";
import { storageLimits } from "../storage/limits.ts";
import { FolderInUse, ownDataDir, readOwner, refuseFile, refuseHalfRestored } from "../storage/lock.ts";
import { pendingMigrations } from "../storage/migrate.ts";
import { refuseNewerFolder } from "../storage/migrations/folder_version.ts";
import { attachStores, checkClickHouse, type Stores } from "../storage/stores.ts";
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

function finding(part: Finding["part"], state: Finding["state"], text: string, remedy?: string): Finding {
  return { part, state, text, ...(remedy !== undefined && { remedy }) };
}

async function run(args: string[], { config, print }: CliContext): Promise<number> {
  const words = readArguments(args, [], ["json"]);
  checkPositionals(words, 0);
  const dataDir = resolve(config.dataDir);
  const { owner, problem } = examineFolder(dataDir);
  const findings = problem
    ? [...settingsFindings(config), problem]
    : [
        ...settingsFindings(config),
        diskFinding(dataDir),
        ...(await serverFindings(config, owner)),
        ...(await storeFindings(config, dataDir)),
        ...journalFindings(dataDir),
      ];
  const isJson = words.values["json"] === true;
  if (!isJson) print(`sluice ${readBuild()}, DATA_DIR ${dataDir}\n`);
  for (const one of findings) print(isJson ? JSON.stringify(one) : lineOf(one));
  return findings.some(({ state }) => state === "wrong") ? 1 : 0;
}

function lineOf({ part, state, text, remedy }: Finding): string {
  const line = `${state.padEnd(6)}${part.padEnd(10)}${text}`;
  return remedy === undefined ? line : `${line}\n${" ".repeat(16)}→ ${remedy}`;
}

function settingsFindings(config: Config): Finding[] {
  const serve = "bun run sluice serve";
  const findings = config.misspelt.map(([name, setting]) =>
    finding("settings", "wrong", `${name} is no setting`, `remove it, or: ${setting}=VALUE ${serve}`),
  );
  const isPublic = !["127.0.0.1", "::1", "localhost"].includes(config.host);
  if (isPublic && config.siteUrl === undefined) {
    const text = `others can reach ${config.host}, and SITE_URL is not set: links begin with the Host of a request`;
    findings.push(finding("settings", "note", text, `set people's address: SITE_URL=https://HOST ${serve}`));
  }
  if (isPublic && config.metricsToken === undefined) {
    const text = "anyone who reaches the server can read /metrics";
    const remedy = `block it in the proxy, or set a token: METRICS_TOKEN=$(openssl rand -hex 16) ${serve}`;
    findings.push(finding("settings", "note", text, remedy));
  }
  if (findings.length > 0) return findings;
  return [finding("settings", "ok", "every setting is known and has a valid value")];
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
    const reason = reasonOf(thrown);
    const remedy = `run doctor as the user of the server, after: chown -R USER ${dataDir}`;
    return { problem: finding("disk", "wrong", reason, /EACCES|EPERM/.test(reason) ? remedy : undefined) };
  }
}

function diskFinding(dataDir: string): Finding {
  if (!existsSync(dataDir)) {
    return finding("disk", "note", "DATA_DIR does not exist", "make it: bun run sluice serve");
  }
  const { bavail, blocks, bsize } = statfsSync(dataDir);
  const [free, reserve] = [bavail * bsize, reserveOf(blocks * bsize)];
  const space = `${megabytes(free)} free of ${megabytes(blocks * bsize)}`;
  const text = `${space}; captures are refused below ${megabytes(reserve)}`;
  if (free < 2 * reserve)
    return finding("disk", free < reserve ? "wrong" : "note", text, spaceRemedy(dataDir));
  return finding("disk", "ok", text);
}

async function serverFindings(config: Config, owner: Owner | undefined): Promise<Finding[]> {
  const { host, port } = config;
  const configured = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const url = (owner?.url ?? configured).replace(/\/\/(?:0\.0\.0\.0|\[::\])/, "//127.0.0.1");
  const readiness = await textAt(`${url}/_readiness`);
  const pid = owner?.pid ?? "unknown";
  const again = `it starts, or hangs: see its log; to start it again: kill ${pid}, then: bun run sluice serve`;
  if (readiness === undefined) {
    if (!owner)
      return [finding("server", "note", `none answers at ${url}`, "start it: bun run sluice serve")];
    return [finding("server", "wrong", `none answers at ${url}, yet process ${pid} owns DATA_DIR`, again)];
  }
  const found = readiness
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => partFinding(line, url, config));
  if (found.length === 0 || !found.every((part) => part !== undefined)) {
    const remedy = owner ? again : `stop that program, or: PORT=${port ^ 1} bun run sluice serve`;
    return [finding("server", "wrong", `another program answers at ${url}`, remedy)];
  }
  const bound = Number(new URL(url).port || 80);
  const text = `process ${pid} serves this DATA_DIR at ${url}, not at PORT ${port}`;
  const remedy = `start the server again with this PORT, or: PORT=${bound} bun run sluice doctor`;
  const isElsewhere = owner?.url !== undefined && port !== 0 && port !== bound;
  const elsewhere = isElsewhere ? [finding("server", "wrong", text, remedy)] : [];
  return [...elsewhere, ...found, ...(await pendingFinding(config, url))];
}

/** What the server answers; undefined when it does not. */
async function textAt(url: string, headers: Record<string, string> = {}): Promise<string | undefined> {
  const signal = AbortSignal.timeout(2 * limits.healthMsMax);
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
  if (Number(bytes) < journalBytesMax / pendingDivisor) return [finding("journal", "ok", text)];
  const remedy = `a project past its share gets 503; see why ClickHouse stores less: curl ${url}/_readiness`;
  return [finding("journal", "wrong", text, remedy)];
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
  const { part, ok, error, amiss } = membersOf(jsonIn(line));
  if (part === undefined || ok === undefined) return undefined;
  const code = amiss && part === "clickhouse" ? "REPLICA" : String(error);
  const remedy = remedies[code]?.(config) ?? `see the server's log; all parts: curl ${url}/_readiness`;
  if (!ok) return finding("server", "wrong", `${part} is not ready: ${error}`, remedy);
  if (amiss) return finding("server", "note", `${part}: ${amiss}`, remedy);
  return finding("server", "ok", `${part} is ready`);
}

async function storeFindings(config: Config, dataDir: string): Promise<Finding[]> {
  const log = openLog({ level: "silent", format: "json" });
  // The first start will create the stores.
  if (config.databaseUrl === undefined && !existsSync(dataDir)) return [];
  let stores: Stores;
  let known: KnownStores | undefined;
  try {
    known = readKnownStores(dataDir);
    stores = await attachStores({ ...config, dataDir, known, log, requireReachable: true, existing: true });
  } catch (thrown) {
    return [brokenStores(thrown)];
  }
  try {
    await checkIdentity(stores.sql, stores.clickhouse, known);
    // Opening secrets without a key makes one.
    const hasKey = config.secretKey !== undefined || existsSync(join(dataDir, "secret.key"));
    const keyIds = hasKey ? openSecrets({ ...config, dataDir }).keyIds : [];
    const unreadable = await countUnreadable(stores.sql, keyIds);
    const amiss = await checkClickHouse(stores.clickhouse);
    const pending = Object.values(await pendingMigrations(stores, log)).flat();
    const waits = pending.filter(({ olderGoOn }) => !olderGoOn).length;
    const silent = pending.length > 0 ? [] : await readSilences(stores.sql, systemClock.now());
    const missing = `${pending.length} migrations are missing; older servers must stop for ${waits} of them`;
    const remedy = "the next start applies them; a list: bun run sluice migrate --check";
    return [
      ...(amiss ? [finding("stores", "wrong", `ClickHouse: ${amiss}`, remedies["REPLICA"]?.(config))] : []),
      pending.length === 0
        ? finding("stores", "ok", "both answer, their tables are those of this version")
        : finding("stores", "note", missing, remedy),
      ...(unreadable === 0
        ? []
        : [finding("stores", "wrong", `no key opens ${unreadable} of the stored secrets`, lostKeyRemedy)]),
      ...silent
        .filter(([, seconds]) => seconds * 1000 >= storageLimits.journalUnseenMsMax)
        .map(([journal, seconds]) => `${journal} last reported ${Math.round(seconds / 60)} minutes ago`)
        .map((text) => finding("journal", "note", `the server of the journal ${text}`, silentRemedy)),
    ];
  } catch (thrown) {
    return [brokenStores(thrown)];
  } finally {
    await stores.close();
  }
}

const silentRemedy =
  "its journal is not stored yet; unless it was stopped permanently, start it there: bun run sluice serve";

function brokenStores(thrown: unknown): Finding {
  const reason = reasonOf(thrown);
  // Other refusals have their remedy.
  if (thrown instanceof UserError && !/ (?:did not start|does not answer|could not be made): /.test(reason))
    return finding("stores", "wrong", reason);
  const remedy = reason.includes("embedded")
    ? "see the server's log; where files are damaged, put this journal in the place of a restored one's, after: " +
      "DATA_DIR=NEW bun run sluice restore BACKUP"
    : "start what does not answer, or correct its settings, then: bun run sluice doctor";
  return finding("stores", "wrong", reason, remedy);
}

function journalFindings(dataDir: string): Finding[] {
  if (!existsSync(join(dataDir, "journal"))) return [];
  try {
    const refused = new Quarantine(captureSetup, dataDir).count;
    const damaged = [dataDir, ...leftBehind(dataDir, 1)]
      .map((folder) => join(folder, "journal"))
      .filter((folder) => existsSync(folder))
      .flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".damaged")));
    const findings: Finding[] = [];
    if (refused > 0) {
      const remedy = "bun run sluice journal list has the reasons; then: bun run sluice journal retry all";
      findings.push(finding("journal", "wrong", `${refused} events are in quarantine`, remedy));
    }
    if (damaged.length > 0) {
      const remedy = `their sound part was stored; check the disk, then: mv ${dataDir}/journal/*.damaged ELSEWHERE`;
      findings.push(finding("journal", "note", `${damaged.length} damaged files were set aside`, remedy));
    }
    if (findings.length > 0) return findings;
    return [finding("journal", "ok", "nothing is in quarantine or damaged")];
  } catch (thrown) {
    return [finding("journal", "wrong", reasonOf(thrown), "as the server's user: bun run sluice doctor")];
  }
}

function megabytes(bytes: number): string {
  return `${Math.floor(bytes / 1e6).toLocaleString("en-US")} MB`;
}

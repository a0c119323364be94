// The embedded stores die alone, or their server does: nothing acknowledged is lost, and nobody is left behind.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cleanUpEach } from "../support/cleanup.ts";
import { inLongForm } from "../support/kills.ts";
import {
  get,
  post,
  projectKey,
  rested,
  type Server,
  startServer,
  storesOf,
  until,
} from "../support/server.ts";

cleanUpEach();

const [kills] = inLongForm([4], [2]) as [number];

interface Process {
  pid: number;
  parent: number;
  command: string;
}

function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(name), parent, command }];
      } catch {
        return [];
      }
    });
}

function below(pid: number): Process[] {
  const all = processes();
  const found = all.filter((one) => one.parent === pid);
  return found.flatMap((one) => [one, ...below(one.pid)]);
}

function childOf(server: Server, pattern: RegExp): Process {
  const child = below(server.pid).find((one) => pattern.test(one.command) && !one.command.startsWith("sh "));
  if (!child) throw new Error(`no child like ${pattern}`);
  return child;
}

async function ready(server: Server): Promise<void> {
  await until(async () => (await fetch(`${server.url}/_readiness`)).status === 200);
}

async function count(server: Server, event: string): Promise<number> {
  const reply = await get(server, `/api/projects/1/events/?event=${event}&limit=1`);
  return reply.status === 200 ? ((await reply.json()) as { count: number }).count : -1;
}

async function send(server: Server, event: string, events: number): Promise<void> {
  const batch = Array.from({ length: events }, (_, i) => ({
    event,
    distinct_id: `d${i}`,
    uuid: crypto.randomUUID(),
  }));
  expect((await post(server, "/batch/", { api_key: projectKey, batch })).status).toBe(200);
}

const clickhouseChild = /chdb_server\/server\.ts/;
const postgresChild = /bin\/postgres -D/;

test("a ClickHouse child killed again and again under load comes back, and every event is stored once", async () => {
  const server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  let sent = 0;
  for (let kill = 0; kill < kills; kill++) {
    for (let i = 0; i < 10 + kill * 7; i++) {
      await send(server, "steady", 20);
      sent += 20;
    }
    process.kill(childOf(server, clickhouseChild).pid, "SIGKILL");
    await send(server, "steady", 20);
    sent += 20;
    await ready(server);
  }
  await rested(server);
  expect(await count(server, "steady")).toBe(sent);
});

/** The priorities of a process's threads; below 0 is what the engine keeps for its watch over memory. */
function nicesOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const stats = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8"));
  const nices = stats.map((stat) => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]));
  return [...new Set(nices.filter((nice) => nice >= 0))].toSorted((a, b) => a - b);
}

test("both stores' children have the server's own priority, so that a busy machine starves none of them", async () => {
  const server = await startServer();
  const [own] = nicesOf(server.pid);
  expect(nicesOf(childOf(server, clickhouseChild).pid)).toEqual([own!]);
  expect(nicesOf(childOf(server, postgresChild).pid)).toEqual([own!]);
});

test("the ClickHouse child begins beside the server, and stands behind it once events were stored", async () => {
  const server = await startServer();
  const autogroup = `/proc/${childOf(server, clickhouseChild).pid}/autogroup`;
  // A kernel may be built without shares of sessions.
  const before = existsSync(autogroup) ? readFileSync(autogroup, "utf8") : "";
  if (before !== "") expect(before).toEndWith("nice 0\n");
  // An INSERT that a busy machine makes late brings it to the front for a while.
  let sent = 0;
  await until(async () => {
    await send(server, "quiet", 5);
    sent += 5;
    await rested(server);
    return before === "" || readFileSync(autogroup, "utf8").endsWith("nice 10\n");
  });
  expect(await count(server, "quiet")).toBe(sent);
});

test("a Postgres child killed alone comes back; capture never stops", async () => {
  const server = await startServer();
  process.kill(childOf(server, postgresChild).pid, "SIGKILL");
  await send(server, "undisturbed", 5);
  await ready(server);
  await rested(server);
  expect(await count(server, "undisturbed")).toBe(5);
});

test("a server killed with -9 leaves no process behind, and listens nowhere but on loopback while it lives", async () => {
  const server = await startServer();
  const { sql } = await storesOf(server);
  expect((await sql`SELECT 1 AS one`)[0]).toEqual({ one: 1 });
  const family = [server.pid, ...below(server.pid).map((one) => one.pid)];
  const sockets = new Set(family.flatMap(socketsOf));
  const listening = listeners().filter(({ inode }) => sockets.has(inode));
  expect(listening.length).toBeGreaterThanOrEqual(3);
  expect(listening.filter(({ address }) => address !== "0100007F")).toEqual([]);
  await server.end("SIGKILL");
  await until(() => Promise.resolve(family.every((pid) => !processes().some((one) => one.pid === pid))));
});

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const target = Bun.spawnSync(["readlink", `/proc/${pid}/fd/${fd}`]).stdout.toString();
      return /socket:\[(\d+)\]/.exec(target)?.[1] ?? [];
    });
  } catch {
    return [];
  }
}

/** Listening TCP sockets of this machine: state 0A, addresses in the kernel's own hex; any IPv6 one counts as open. */
function listeners(): { address: string; inode: string }[] {
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((words) => words[3] === "0A")
      .map((words) => ({ address: words[1]?.split(":")[0] ?? "", inode: words[9] ?? "" })),
  );
}

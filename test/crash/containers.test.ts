// Hosts that are hard on a server: a container whose process ids begin anew in each life, files of another life, an
// embedded store that does not start.

import { afterAll, expect, test } from "bun:test";
import { chownSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { treeOf } from "../../bench/process_tree.ts";
import { silentLog as log } from "../../src/core/log.ts";
import { startEmbeddedPostgres } from "../../src/storage/embedded/postgres.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { killsOf } from "../support/kills.ts";
import { get, post, projectKey, type Server, startServer, until } from "../support/server.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp);

const main = resolve(import.meta.dir, "../../src/main.ts");
const nobody = 65_534;
/** As a container runtime starts a process: its own process ids, a user without rights. */
const contained = [
  ["unshare", "-pf", "--kill-child", "--mount-proc"],
  ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"],
].flat();
const canContain = process.getuid?.() === 0 && Bun.spawnSync([...contained, "true"]).exitCode === 0;

const kills = killsOf(3);

interface Contained {
  url: string;
  kill(): Promise<void>;
}

async function startContained(dataDir: string): Promise<Contained> {
  const child = Bun.spawn([...contained, process.execPath, main, "serve"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PORT: "0",
      DATA_DIR: dataDir,
      LOG_FORMAT: "json",
      BOOTSTRAP_PROJECT_API_KEY: projectKey,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const kill = async () => {
    // The first process of the namespace is the server: with it the kernel ends everything inside.
    const inside = treeOf([child.pid]).filter((pid) => pid !== child.pid);
    if (inside[0] !== undefined) process.kill(inside[0], "SIGKILL");
    await child.exited;
    await until(async () => inside.every((pid) => !existsSync(`/proc/${pid}`)));
  };
  later(kill);
  let printed = "";
  for await (const chunk of child.stdout.values({ preventCancel: true })) {
    printed += new TextDecoder().decode(chunk);
    const url = /Sluice is listening(?: on |","url":")(http[^"\s]+)["\n]/.exec(printed)?.[1];
    if (url === undefined) continue;
    void child.stderr.pipeTo(new WritableStream());
    return { url, kill };
  }
  throw new Error(`the server did not start: ${await child.stderr.text()}`);
}

test.skipIf(!canContain)(
  "a container that is killed starts again, each time, and captures and becomes ready",
  async () => {
    const dataDir = makeFolder();
    chownSync(dataDir, nobody, nobody);
    for (let life = 0; life <= kills; life++) {
      const server = await startContained(dataDir);
      const body = JSON.stringify({ api_key: projectKey, event: "life", distinct_id: `life-${life}` });
      expect((await fetch(`${server.url}/capture/`, { method: "POST", body })).status).toBe(200);
      await until(async () => (await fetch(`${server.url}/_readiness`)).status === 200);
      await server.kill();
    }
  },
  300_000 + kills * 60_000,
);

test(
  "Postgres starts although the process id in its old lock file is alive and somebody else's",
  async () => {
    const dataDir = makeFolder();
    const first = await startEmbeddedPostgres({ dataDir, log });
    const lock = join(dataDir, "postgres/postmaster.pid");
    const text = readFileSync(lock, "utf8");
    const { uid, gid } = statSync(lock);
    await first.stop();
    // Of the same user: Postgres asks whether it may send that process a signal.
    const become =
      process.getuid?.() === 0 ? ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"] : [];
    const stranger = Bun.spawn([...become, "sleep", "600"]);
    later(() => stranger.kill("SIGKILL"));
    writeFileSync(lock, text.replace(/^\d+/, String(stranger.pid)));
    chownSync(lock, uid, gid);
    const second = await startEmbeddedPostgres({ dataDir, log });
    later(() => second.stop());
    const sql = openPostgres(second.url, { log });
    later(() => sql.end({ timeout: 1 }));
    expect(await sql`SELECT 1 AS one`).toMatchObject([{ one: 1 }]);
    expect(stranger.exitCode).toBeNull();
  },
  storesStartMsMax,
);

test(
  "a later start captures while its Postgres cannot start, says so, and is ready once it can",
  async () => {
    const first = await startServer();
    const { dataDir } = first;
    expect(await first.end("SIGTERM")).toBe(0);
    const control = join(dataDir, "postgres/global/pg_control");
    const sound = readFileSync(control);
    writeFileSync(control, new Uint8Array(sound.length));
    const second = await startServer({}, dataDir);
    expect((await post(second, "/capture/", hello("kept"))).status).toBe(200);
    const readiness = await fetch(`${second.url}/_readiness`);
    expect(readiness.status).toBe(503);
    expect(await readiness.text()).toMatch(/"part":"postgres","ok":false/);
    writeFileSync(control, sound);
    await until(async () => (await fetch(`${second.url}/_readiness`)).status === 200);
    await until(async () => (await countOf(second)) === 1);
  },
  2 * storesStartMsMax,
);

function hello(distinct_id: string) {
  return { api_key: projectKey, event: "hello", distinct_id };
}

async function countOf(server: Server): Promise<number> {
  const reply = await get(server, "/api/projects/1/events/?event=hello");
  return reply.status === 200 ? ((await reply.json()) as { count: number }).count : -1;
}

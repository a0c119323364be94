import { afterAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { UserError } from "../../src/core/fault.ts";
import { silentLog as log } from "../../src/core/log.ts";
import { writeConnection } from "../../src/storage/embedded/connection.ts";
import { ownDataDir } from "../../src/storage/lock.ts";
import { attachPostgres, attachStores, openStores } from "../../src/storage/stores.ts";
import { cleanUp, later } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { openTestStores, startFront, storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

const nowhere = {
  databaseUrl: "postgres://someone:secret@127.0.0.1:1/sluice",
  clickhouseUrl: "http://someone:secret@127.0.0.1:1/sluice",
};

/** A command in a process of its own, as an operator runs it beside a server. */
async function attachElsewhere(dataDir: string): Promise<{ stdout: string; stderr: string }> {
  const module = resolve(import.meta.dir, "../../src/storage/stores.ts");
  const logModule = resolve(import.meta.dir, "../../src/core/log.ts");
  const script = `import { attachStores } from ${JSON.stringify(module)};
    import { silentLog as log } from ${JSON.stringify(logModule)};
    const stores = await attachStores({ dataDir: ${JSON.stringify(dataDir)}, log });
    console.log(JSON.stringify([await stores.clickhouse.query("SELECT a FROM default.kept"), await stores.sql\`SELECT a FROM kept\`]));
    await stores.close();`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
  return { stdout: await child.stdout.text(), stderr: await child.stderr.text() };
}

test(
  "a command uses the stores of a running server, and starts its own when there is none",
  async () => {
    const dataDir = makeFolder();
    const stores = await openTestStores(dataDir);
    await stores.clickhouse.createDatabase();
    await stores.clickhouse.command(
      "CREATE TABLE default.kept ENGINE = MergeTree ORDER BY a AS SELECT 1 AS a",
    );
    await stores.sql`CREATE TABLE kept AS SELECT 2 AS a`;
    expect(statSync(join(dataDir, "connection.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, "postgres.password")).mode & 0o777).toBe(0o600);
    const printed = `${JSON.stringify([[{ a: 1 }], [{ a: 2 }]])}\n`;
    expect(await attachElsewhere(dataDir)).toEqual({ stdout: printed, stderr: "" });
    const attached = await attachPostgres({ dataDir, log });
    expect(await attached.sql`SELECT a FROM kept`).toMatchObject([{ a: 2 }]);
    await attached.close();
    await stores.close();
    expect(await attachElsewhere(dataDir)).toEqual({ stdout: printed, stderr: "" });
  },
  storesStartMsMax,
);

test(
  "a start right after a kill waits for what the killed process had begun, and finds it",
  async () => {
    const dataDir = makeFolder();
    const module = resolve(import.meta.dir, "../support/stores.ts");
    const script = `import { openTestStores } from ${JSON.stringify(module)};
      const { clickhouse } = await openTestStores(${JSON.stringify(dataDir)});
      await clickhouse.createDatabase();
      await clickhouse.command("CREATE TABLE slow (a UInt8) ENGINE = MergeTree ORDER BY a");
      const insert = "INSERT INTO slow SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_block_size = 1";
      const running = "SELECT 1 FROM system.processes WHERE query LIKE 'INSERT INTO slow%'";
      void clickhouse.command(insert);
      while ((await clickhouse.query(running)).length === 0);
      console.log("begun");`;
    const owner = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stdin: "ignore" });
    await owner.stdout.getReader().read();
    owner.kill("SIGKILL");
    await owner.exited;
    const { clickhouse } = await openTestStores(dataDir);
    expect(await clickhouse.query("SELECT count() AS count FROM slow")).toEqual([{ count: "3" }]);
  },
  storesStartMsMax,
);

test("stores that do not answer are named with host and port, never with their password", async () => {
  const failing = openStores({ dataDir: makeFolder(), ...nowhere, requireReachable: true, log });
  const thrown = await failing.catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(UserError);
  expect((thrown as UserError).message).toMatch(
    /^(DATABASE|CLICKHOUSE)_URL \(127\.0\.0\.1:1\) does not answer: /,
  );
  expect((thrown as UserError).message).not.toContain("secret");
});

test("a remote store that does not answer yet does not hold up a start that can wait", async () => {
  const stores = await openStores({ dataDir: makeFolder(), ...nowhere, log });
  await expect(stores.clickhouse.ping()).rejects.toMatchObject({ kind: "transient", code: "ECONNREFUSED" });
  await stores.close();
});

test(
  "a wrong password is told as what it is",
  async () => {
    const front = await startFront();
    const clickhouseUrl = front.url.replace(/:[^:@]+@/, ":wrong@");
    const postgres = await openTestStores();
    const dataDir = makeFolder();
    const databaseUrl = String(postgres.sql.options.host).concat(`:${postgres.sql.options.port}`);
    const failing = openStores({
      dataDir,
      databaseUrl: `postgres://sluice:wrong@${databaseUrl}/postgres`,
      clickhouseUrl,
      requireReachable: true,
      log,
    });
    await expect(failing).rejects.toThrow(
      /_URL \(127\.0\.0\.1:\d+\) does not answer: .*(authentication|password)/i,
    );
    later(() => postgres.close());
  },
  storesStartMsMax,
);

test("a command without the address of a remote store is refused with a command that has it", async () => {
  const dataDir = makeFolder();
  using _ = ownDataDir(dataDir);
  writeConnection(dataDir, { clickhouse_url: "http://127.0.0.1:1" });
  await expect(attachStores({ dataDir, log })).rejects.toThrow(/: DATABASE_URL=URL bun run sluice doctor$/);
});

test("a folder whose name the engine would take for a pattern is refused", async () => {
  const dataDir = join(makeFolder(), "{a,b}");
  const failing = openStores({ dataDir, databaseUrl: nowhere.databaseUrl, log });
  await expect(failing).rejects.toThrow(/must not contain any of/);
});

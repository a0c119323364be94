// What a backup and a restore refuse, each in one line, and how much memory they take.

import { beforeAll, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { summedJson } from "../../../src/core/json/summed_json.ts";
import { ownDataDir } from "../../../src/storage/lock.ts";
import { cleanUpEach } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import {
  type Environment,
  post,
  projectKey,
  rested,
  runSluice,
  type Server,
  spawnSluice,
  startServer,
  storesOf,
} from "../../support/server.ts";

cleanUpEach();

let server: Server;
let source: string;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
  const body = { api_key: projectKey, event: "kept", distinct_id: "d" };
  expect((await post(server, "/capture/", body)).status).toBe(200);
  await rested(server);
  source = join(makeFolder(), "backup");
  expect((await runSluice(["backup", source], { DATA_DIR: server.dataDir })).exitCode).toBe(0);
});

/** The one line with which a command is refused. */
async function refusal(args: string[], environment: Environment, exitCode = 1): Promise<string> {
  const ran = await runSluice(args, environment);
  expect(ran).toMatchObject({ exitCode, stdout: "" });
  expect(ran.stderr.trimEnd().split("\n").length).toBe(1);
  return ran.stderr.trimEnd();
}

/** A copy of the backup with something done to it, and a data folder to restore it into. */
function copyWith(change: (copy: string) => void): { copy: string; dataDir: string } {
  const copy = join(makeFolder(), "copy");
  cpSync(source, copy, { recursive: true });
  change(copy);
  return { copy, dataDir: join(makeFolder(), "restored") };
}

/** Changes the manifest, with a sum that fits. */
function changeManifest(copy: string, changes: (manifest: Record<string, unknown>) => object): void {
  const path = join(copy, "manifest.json");
  const { sum: _, ...manifest } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  writeFileSync(path, summedJson({ ...manifest, ...changes(manifest) }));
}

function linkTo(target: string, path: string): void {
  rmSync(path, { force: true });
  symlinkSync(target, path);
}

function firstPart(copy: string): string {
  const lines = readFileSync(join(copy, "files"), "utf8").split("\n");
  return lines.find((line) => line.includes("clickhouse/event_rows/"))!.slice(66);
}

test("remote stores are refused, with what backs them up instead", async () => {
  const remote = {
    DATABASE_URL: "postgres://u:p@127.0.0.1:1/x",
    CLICKHOUSE_URL: "http://u:p@127.0.0.1:1/x",
    SECRET_KEY: "a secret key for a test",
  };
  const { CLICKHOUSE_URL, ...half } = remote;
  const dataDir = join(makeFolder(), "new");
  for (const verb of ["backup", "restore"]) {
    expect(await refusal([verb, source], { ...remote, DATA_DIR: dataDir })).toBe(
      `sluice ${verb}: DATABASE_URL and CLICKHOUSE_URL are set, and sluice ${verb} is for embedded stores: ` +
        "use pg_dump or ClickHouse's BACKUP and RESTORE for remote ones " +
        '(src/docs/backup.md, "Remote stores")',
    );
    expect(await refusal([verb, source], { ...half, DATA_DIR: dataDir })).toContain("DATABASE_URL is set");
    expect(await refusal([verb, source], { CLICKHOUSE_URL, DATA_DIR: dataDir })).toContain(
      "CLICKHOUSE_URL is set",
    );
  }
  expect(existsSync(dataDir)).toBe(false);
});

test("a backup is refused where there is nothing to back up, or no place for it", async () => {
  const { dataDir } = server;
  const nowhere = join(makeFolder(), "nowhere");
  const target = join(makeFolder(), "backup");
  expect(await refusal(["backup", target], { DATA_DIR: nowhere })).toContain(
    `DATA_DIR ${nowhere} has no embedded stores`,
  );
  expect(existsSync(nowhere)).toBe(false);
  expect(await refusal(["backup", source], { DATA_DIR: dataDir })).toContain(`${source} is not empty`);
  expect(await refusal(["backup", join(dataDir, "backup")], { DATA_DIR: dataDir })).toContain(
    `the backup must not be within DATA_DIR ${dataDir}`,
  );
  expect(await refusal(["backup"], { DATA_DIR: dataDir }, 2)).toContain("expected one folder");
  expect(await refusal(["backup", "a", "b"], { DATA_DIR: dataDir }, 2)).toContain("expected one folder");
  const { sql } = await storesOf(server);
  const other = await sql.reserve();
  await other`SELECT pg_advisory_lock(108171129042288)`;
  expect(await refusal(["backup", target], { DATA_DIR: dataDir })).toContain(
    "another backup of this DATA_DIR is running",
  );
  await other`SELECT pg_advisory_unlock(108171129042288)`;
  other.release();
  mkdirSync(target);
  expect((await runSluice(["backup", target], { DATA_DIR: dataDir })).exitCode).toBe(0);
});

test("a folder with anything in it is not restored into", async () => {
  expect(await refusal(["restore", source], { DATA_DIR: server.dataDir })).toContain("is not empty");
  const dataDir = makeFolder();
  writeFileSync(join(dataDir, "mine"), "");
  expect(await refusal(["restore", source], { DATA_DIR: dataDir })).toBe(
    `sluice restore: DATA_DIR ${dataDir} is not empty (it has mine): DATA_DIR=NEW bun run sluice restore BACKUP`,
  );
  rmSync(join(dataDir, "mine"));
  // What a new volume has by itself, and what a restore leaves that was killed before it began.
  mkdirSync(join(dataDir, "lost+found"));
  ownDataDir(dataDir).release();
  expect((await runSluice(["restore", source], { DATA_DIR: dataDir })).exitCode).toBe(0);
});

test("a damaged backup is refused by the name of what is damaged, and nothing is written", async () => {
  const cases: [string, (copy: string) => void][] = [
    ["is no backup: it has no manifest.json", (copy) => rmSync(join(copy, "manifest.json"))],
    [
      "manifest.json is damaged: its sum is wrong",
      (copy) => {
        const path = join(copy, "manifest.json");
        writeFileSync(path, readFileSync(path, "utf8").replace('"begun_at":"2', '"begun_at":"1'));
      },
    ],
    [
      "postgres/projects is not as it was written",
      (copy) => writeFileSync(join(copy, "postgres/projects"), "id\n"),
    ],
    ["/count.txt is missing", (copy) => rmSync(join(copy, firstPart(copy), "../count.txt"))],
    ["its list of files is not the one it was made with", (copy) => writeFileSync(join(copy, "files"), "")],
    // Each of these never ends when it is read.
    ...["manifest.json", "files", "postgres/projects"].map((name): [string, (copy: string) => void] => [
      name === "files" ? "its list of files is not the one it was made with" : `${name}`,
      (copy) => linkTo("/dev/zero", join(copy, name)),
    ]),
    ["postgres/projects is no file", (copy) => linkTo("/dev", join(copy, "postgres/projects"))],
    [
      "postgres/projects is no file",
      (copy) => {
        rmSync(join(copy, "postgres/projects"));
        expect(Bun.spawnSync(["mkfifo", join(copy, "postgres/projects")]).exitCode).toBe(0);
      },
    ],
    [
      "manifest.json is damaged: it is no file of at most",
      (copy) => truncateSync(join(copy, "manifest.json"), 2e9),
    ],
  ];
  for (const [said, change] of cases) {
    const { copy, dataDir } = copyWith(change);
    expect(await refusal(["restore", copy], { DATA_DIR: dataDir })).toContain(said);
    expect(existsSync(dataDir)).toBe(false);
  }
  const dataDir = join(makeFolder(), "new");
  expect(await refusal(["restore", join(dataDir, "none")], { DATA_DIR: dataDir })).toContain("is no backup");
});

test("a link and an empty folder that are none of the backup's are refused by their names, too", async () => {
  for (const [path, make] of [
    ["clickhouse/link", (at: string) => symlinkSync("/etc/hostname", at)],
    ["postgres/mine/", (at: string) => mkdirSync(at)],
  ] as const) {
    const { copy, dataDir } = copyWith((folder) => make(join(folder, path)));
    expect(await refusal(["restore", copy], { DATA_DIR: dataDir })).toBe(
      `sluice restore: ${copy} has a file that is none of the backup's: ${path}; move it away`,
    );
  }
});

test("a file that is none of the backup's is refused by its name, at its top and below", async () => {
  for (const path of ["notes.txt", "clickhouse/event_rows/mine/data.bin", "data/journal/.x.segment"]) {
    const { copy, dataDir } = copyWith((folder) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), "foreign");
    });
    expect(await refusal(["restore", copy], { DATA_DIR: dataDir })).toBe(
      `sluice restore: ${copy} has a file that is none of the backup's: ${path}; move it away`,
    );
    expect(existsSync(dataDir)).toBe(false);
  }
});

test("a backup of another version is refused", async () => {
  type Migrations = { version: number; name: string; checksum: string }[];
  const changed = (change: (all: Migrations) => Migrations) => (copy: string) =>
    changeManifest(copy, ({ postgres }) => ({ postgres: change(postgres as Migrations) }));
  const later = (all: Migrations) => [
    ...all,
    { version: all.at(-1)!.version + 1, name: "later.sql", checksum: "0" },
  ];
  const cases: [string, (copy: string) => void][] = [
    [
      "is a backup of format 2, which this program cannot read",
      (copy) => changeManifest(copy, () => ({ format: 2 })),
    ],
    [
      "was made by version 99.0.0, newer than this program",
      (copy) => changeManifest(copy, () => ({ version: "99.0.0" })),
    ],
    ["newer than this program; run that one", changed(later)],
    [
      "an older version of this program made the Postgres store",
      changed((all) => [{ ...all[0]!, name: "0001_x.sql" }]),
    ],
  ];
  for (const [said, change] of cases) {
    const { copy, dataDir } = copyWith(change);
    expect(await refusal(["restore", copy], { DATA_DIR: dataDir })).toContain(said);
    expect(existsSync(dataDir)).toBe(false);
  }
});

test("a list that leads out of the backup is refused", async () => {
  const paths = [
    "data/../../../etc/passwd",
    "/etc/passwd",
    "data//etc/passwd",
    "data/journal/..",
    "data/workers/../journal/x",
    "data/workers/a/b/journal/x",
    "clickhouse/event_rows/../../../x",
    "clickhouse/event_rows/a\\..\\x",
    "clickhouse/../x/y",
    "postgres/a.b",
    "data/postgres.password",
    "data/lock",
    "data/journal/x@2",
    `data/journal/${"x".repeat(1_000_000)}/x`,
    "",
  ];
  for (const path of paths) {
    const { copy, dataDir } = copyWith((folder) => {
      const line = `${"0".repeat(64)}  ${path}\n`;
      writeFileSync(join(folder, "files"), line);
      const sum = new Bun.CryptoHasher("sha256").update(line).digest("hex");
      changeManifest(folder, () => ({ files: { files: 1, bytes: 0, sum } }));
    });
    expect(await refusal(["restore", copy], { DATA_DIR: dataDir })).toContain("has a line that names none");
    expect(existsSync(dataDir)).toBe(false);
  }
});

test("memory does not grow with what is copied", async () => {
  const small = await peakOf(["backup", join(makeFolder(), "backup")], server.dataDir);
  const smallRestore = await peakOf(["restore", source], join(makeFolder(), "restored"));
  const { clickhouse, sql } = await storesOf(server);
  await clickhouse.command(
    `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at)
     SELECT generateUUIDv4(), 1, 'long', toString(number), randomString(10000), now(), now() - 86400
     FROM numbers(20000)`,
    {},
    { timeoutMs: 300_000 },
  );
  await sql`
    INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
    SELECT 1, 'id ' || n, repeat('x', 150) || n, 1, 1, 1 FROM generate_series(1, 300000) AS n`;
  const target = join(makeFolder(), "backup");
  const large = await peakOf(["backup", target], server.dataDir);
  const { files } = JSON.parse(readFileSync(join(target, "manifest.json"), "utf8")) as {
    files: { bytes: number };
  };
  expect(files.bytes).toBeGreaterThan(250e6);
  expect(large - small).toBeLessThan(100e6);
  const dataDir = join(makeFolder(), "restored");
  expect(await peakOf(["restore", target], dataDir)).toBeLessThan(smallRestore + 150e6);
  expect(readdirSync(dataDir)).toContain("postgres");
});

/** The most memory that the command's process took, or one that it started: a restore starts the engine. */
async function peakOf(args: string[], dataDir: string): Promise<number> {
  const child = spawnSluice(args, { DATA_DIR: dataDir });
  expect(await child.exited).toBe(0);
  return child.resourceUsage()!.maxRSS;
}

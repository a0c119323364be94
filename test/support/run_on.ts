// Runs the tests that open stores or start servers on another ClickHouse than the embedded one (remote_clickhouse.ts):
//
//   bun test/support/run_on.ts remote|cluster [--list] [file or folder…]
//
// A test file belongs to them unless it stands in `elsewhere`, which says why not.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");

/** How a test comes to a ClickHouse: by these, or by files of test/support that use them. */
const opens = /\b(?:openTestStores|openMadeStores|startServer|startApp|startWithHistory|openLender)\(/;
const opensBySupport =
  /from "(?:[./]+\/support\/(?:batch_exports|export_process|export_workers|neighbours|tenants)|\.\/sql_world)\.ts"/;

/** Why these are of the embedded engine only, or bring their own. A folder stands for all in it. */
const elsewhere: Readonly<Record<string, string>> = {
  "test/batch_exports/destination_operations.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/destinations/file/export_folder.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/source/columns.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/runs/schedule_store.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/native_files.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/runs/worker.test.ts": "File destinations need the embedded engine",
  "test/batch_exports/sinks.test.ts": "File destinations need the embedded engine",
  "test/capture/journal/identity/ownership.test.ts": "lends databases of embedded stores to other servers",
  "test/cli/backup": "backups are of the embedded stores",
  "test/cli/remote.test.ts": "begins on the embedded stores, and brings a remote one",
  "test/cli/serve.test.ts": "the start and the end of the embedded stores",
  "test/clients": "what SDKs send: the same requests as in test/capture, and none of them knows the store",
  "test/console": "pages in a browser, over operations that have tests of their own",
  "test/crash": "kills the embedded engine, or brings the stores that it kills",
  "test/http": "HTTP itself: the server is only there to be asked",
  "test/spec/docs.test.ts": "the documents' commands, which begin on the embedded stores",
  "test/spec/readme.test.ts": "the README's commands, which begin on the embedded stores",
  "test/storage": "brings its own stores: each of them, both compared, or a cluster",
};

/** Those of them that hold on a store all the same. */
const holding = ["test/storage/events", "test/crash/several_servers.test.ts"];

export interface Choice {
  chosen: string[];
  /** By entry of `elsewhere`: the files that it keeps out. */
  left: Map<string, string[]>;
}

export function chooseTests(): Choice {
  const names = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).map(
    (name) => `test/${name}`,
  );
  const concerned = names.filter((name) => /\.test\.tsx?$/.test(name) && reachesClickHouse(name)).toSorted();
  const left = new Map(Object.keys(elsewhere).map((place) => [place, [] as string[]]));
  const chosen = concerned.filter((name) => {
    const place = Object.keys(elsewhere).find((one) => isIn(name, one));
    if (place === undefined || holding.some((one) => isIn(name, one))) return true;
    left.get(place)!.push(name);
    return false;
  });
  return { chosen, left };
}

function reachesClickHouse(name: string): boolean {
  const text = readFileSync(join(root, name), "utf8");
  return opens.test(text) || opensBySupport.test(text);
}

function isIn(name: string, place: string): boolean {
  return name === place || name.startsWith(`${place}/`);
}

if (import.meta.main) {
  const [mode, ...rest] = process.argv.slice(2);
  if (mode !== "remote" && mode !== "cluster") throw new Error("say remote or cluster");
  const places = rest.filter((one) => !one.startsWith("--")).map((one) => one.replace(/\/$/, ""));
  const { chosen, left } = chooseTests();
  const files = chosen.filter((name) => places.length === 0 || places.some((place) => isIn(name, place)));
  if (rest.includes("--list")) {
    for (const name of files) console.log(name);
    for (const [place, names] of left) console.log(`not ${place} (${names.length}): ${elsewhere[place]}`);
  } else if (files.length === 0) {
    // Without files Bun would run all there are.
    console.error(`no test of a ${mode} store is in ${places.join(", ")}`);
    process.exitCode = 1;
  } else {
    const run = Bun.spawn(["bun", "test", "--timeout=300000", ...files], {
      cwd: root,
      env: { ...process.env, SLUICE_TEST_STORES: mode },
      stdio: ["inherit", "inherit", "inherit"],
    });
    process.exitCode = await run.exited;
  }
}

// Stores that a first start would make, made once for all tests of this machine and copied: making them anew costs a
// test four times what a start on a copy costs. Tests of the first start itself begin on an empty folder instead.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../src/core/fault.ts";
import { silentLog } from "../../src/core/log.ts";
import { ownDataDir } from "../../src/storage/lock.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { openStores } from "../../src/storage/stores.ts";
import { makeFolder } from "./folder.ts";

const root = join(import.meta.dir, "../..");

/** What is copied, by store. */
const parts = { postgres: ["postgres", "postgres.password"], clickhouse: ["clickhouse"] };

type Store = keyof typeof parts;

/** A DATA_DIR whose stores are created, migrated and empty; `stores`: both by default. */
export async function makeStoresFolder(
  stores: readonly Store[] = ["postgres", "clickhouse"],
): Promise<string> {
  const folder = makeFolder();
  if (stores.length === 0) return folder;
  const made = await (making ??= findOrMake());
  const copied = stores.flatMap((store) => parts[store].map((name) => join(made, name)));
  // Keeps who owns them, which Bun's own copy does not, and the holes of files.
  const copying = Bun.spawn(["cp", "-a", ...copied, folder], { stdin: "ignore", stderr: "inherit" });
  if ((await copying.exited) !== 0) throw new Error(`the stores in ${made} could not be copied`);
  return folder;
}

let making: Promise<string> | undefined;

/** Whoever comes first makes them; others wait. A maker that is killed leaves nothing at the place itself. */
async function findOrMake(): Promise<string> {
  const home = join(tmpdir(), `sluice-made-stores-${process.getuid?.() ?? 0}`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const place = join(home, keyOf());
  for (;;) {
    if (existsSync(place)) return place;
    const owning = tryOwn(`${place}.lock`);
    if (!owning) {
      await Bun.sleep(againMs);
      continue;
    }
    try {
      if (!existsSync(place)) await make(home, place);
    } finally {
      owning.release();
    }
  }
}

const againMs = 50;

function tryOwn(folder: string): ReturnType<typeof ownDataDir> | undefined {
  try {
    return ownDataDir(folder);
  } catch (thrown) {
    if (thrown instanceof UserError && thrown.message.includes("is in use by")) return undefined;
    throw thrown;
  }
}

async function make(home: string, place: string): Promise<void> {
  const folder = mkdtempSync(join(home, "making-"));
  try {
    const stores = await openStores({ dataDir: folder, log: silentLog, requireReachable: true });
    try {
      await migrate(stores, { log: silentLog });
    } finally {
      await stores.close();
    }
    renameSync(folder, place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Other migrations, engines, or ways of making them are at another place. */
function keyOf(): string {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const store of ["postgres", "clickhouse"]) {
    for (const name of readdirSync(join(root, "sql", store)).toSorted()) {
      hasher.update(name).update(readFileSync(join(root, "sql", store, name)));
    }
  }
  const making = ["bun.lock", "src/storage/embedded/postgres.ts", "src/storage/embedded/engine_config.ts"];
  for (const name of making) hasher.update(readFileSync(join(root, name)));
  return hasher.digest("hex").slice(0, 16);
}

// Another version of this program: a copy of it with one migration more for each store.

import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { knownMigrations, type StoreName } from "../../src/storage/migrations/files.ts";
import { makeFolder } from "./folder.ts";

const root = join(import.meta.dir, "../..");

/** What a later version does to tables that every server writes all the time. */
const additions: Readonly<Record<StoreName, string>> = {
  postgres: `-- Takes: a moment.
    ALTER TABLE journals ADD COLUMN unused integer NOT NULL DEFAULT 7;\n`,
  clickhouse: `-- Takes: 400 s for 20 million events, estimated.
    ALTER TABLE event_rows ADD COLUMN IF NOT EXISTS unused UInt8 DEFAULT 7;\n`,
};

/** The path of the later version's program; `olderGoOn`: whether this version's servers can continue beside it. */
export function makeNextVersion(olderGoOn: boolean): string {
  const folder = makeFolder();
  for (const part of ["src", "sql", "package.json", "tsconfig.json"]) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const header = `-- Older servers: ${olderGoOn ? "go on" : "must stop"}.\n`;
  for (const [store, version] of Object.entries(knownMigrations())) {
    const name = `${String(version + 1).padStart(4, "0")}_unused.sql`;
    writeFileSync(join(folder, "sql", store, name), header + additions[store as StoreName]);
  }
  return join(folder, "src/main.ts");
}

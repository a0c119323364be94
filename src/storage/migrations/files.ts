// The numbered files of sql/: read, checked, and compared with those of a store; and their headers about older servers
// and duration.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../../core/fault.ts";
import { newerRemedy, unreleasedRemedy } from "../../core/version.ts";

export type StoreName = "postgres" | "clickhouse";

export const storeNames: readonly StoreName[] = ["postgres", "clickhouse"];

export function byStore<Value>(of: (store: StoreName) => Value): Record<StoreName, Value> {
  return { postgres: of("postgres"), clickhouse: of("clickhouse") };
}

const titles: Readonly<Record<StoreName, string>> = { postgres: "Postgres", clickhouse: "ClickHouse" };

export interface Migration {
  version: number;
  name: string;
  /** Folder and file, for messages. */
  path: string;
  text: string;
  checksum: string;
  /** Whether servers that do not know the file can run beside it. */
  olderGoOn: boolean;
  duration: MigrationDuration;
}

export interface MigrationDuration {
  /** Seconds with `durationEvents` in the store; 0: a moment, however many there are. */
  seconds: number;
  /** Whether that was measured, or estimated from fewer events. */
  isMeasured: boolean;
}

export const durationEvents = 20_000_000;

export type AppliedMigration = Pick<Migration, "version" | "name" | "checksum">;

export type MigrationFiles = Readonly<Record<StoreName, Migration[]>>;

/** Keyed by store, the number of the last migration. */
export type Versions = Readonly<Record<StoreName, number>>;

/** Files before this number have no header about older servers, which must stop for them. */
export const firstHeaded = 9;

/** Files before these numbers have no header about their duration: a moment, unless they read the events. */
const firstTimed: Versions = { postgres: 21, clickhouse: 15 };
const untimedSeconds: Readonly<Record<string, number>> = { "sql/clickhouse/0009_definitions.sql": 6 };

const headers: ReadonlyMap<string | undefined, boolean> = new Map([
  ["-- Older servers: go on.", true],
  ["-- Older servers: must stop.", false],
]);

export function packageFolder(store: StoreName): string {
  return fileURLToPath(new URL(`../../../sql/${store}`, import.meta.url));
}

export function readMigrations(folders: { [Name in StoreName]?: string | undefined } = {}): MigrationFiles {
  return byStore((store) => readFolder(folders[store] ?? packageFolder(store)));
}

export function knownMigrations(files: MigrationFiles = readMigrations()): Versions {
  return byStore((store) => files[store].length);
}

/** Keyed by store, the last of the files that older servers are not compatible with; 0 without one. */
export function lastStops(files: MigrationFiles): Versions {
  return byStore((store) => files[store].findLast(({ olderGoOn }) => !olderGoOn)?.version ?? 0);
}

/** The files in order; their numbers run from 1 without a gap. */
export function readFolder(folder: string): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.toSorted().map((name, index) => {
    const path = `sql/${basename(folder)}/${name}`;
    const version = Number(/^(\d{4})_\w+\.sql$/.exec(name)?.[1]);
    if (version !== index + 1) {
      const expected = String(index + 1).padStart(4, "0");
      throw new UserError(
        `${path}: expected ${expected}_name.sql here, as the files are numbered without gaps`,
      );
    }
    const text = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    const checksum = new Bun.CryptoHasher("sha256").update(text).digest("hex");
    const declared = { olderGoOn: olderGoOn(path, version, text), duration: readTime(path, version, text) };
    return { version, name, path, text, checksum, ...declared };
  });
}

const durationShape =
  /^-- Takes: (?:a moment|([1-9]\d{0,5}) s for 20 million events, (measured|estimated))\.$/;

function readTime(path: string, version: number, text: string): MigrationDuration {
  const store = path.split("/")[1] as StoreName;
  if (version < firstTimed[store]) return { seconds: untimedSeconds[path] ?? 0, isMeasured: false };
  const found = durationShape.exec(text.split("\n", 2)[1] ?? "");
  if (!found) {
    throw new UserError(
      `${path}: expected as its second line "-- Takes: a moment." or ` +
        '"-- Takes: N s for 20 million events, measured." (or estimated)',
    );
  }
  return { seconds: Number(found[1] ?? 0), isMeasured: found[2] !== "estimated" };
}

function olderGoOn(path: string, version: number, text: string): boolean {
  const compatible = headers.get(text.slice(0, text.indexOf("\n")));
  if (compatible === undefined && version >= firstHeaded) {
    throw new UserError(`${path}: expected one of these as its first line: ${[...headers.keys()].join(" ")}`);
  }
  return compatible ?? false;
}

/**
 * The files that are not applied yet.
 * @param compatible versions that this program does not know but is compatible with.
 * @throws UserError when the applied ones are not this program's.
 */
export function listPending(
  files: Migration[],
  applied: AppliedMigration[],
  store: StoreName,
  compatible: ReadonlySet<number> = new Set(),
): Migration[] {
  const done = applied.toSorted((a, b) => a.version - b.version);
  const clash = done.find(({ version, name }) => files[version - 1] && files[version - 1]?.name !== name);
  if (clash) {
    throw new UserError(
      `an unreleased version of this program made the ${titles[store]} store (it has ${clash.name}): ` +
        unreleasedRemedy,
    );
  }
  for (const [index, { version, checksum }] of done.entries()) {
    const file = files[version - 1];
    if (!file) {
      if (compatible.has(version)) continue;
      throw newerStore(store, done.at(-1)!.version);
    }
    if (version !== index + 1)
      throw new UserError(
        `${files[index]?.path} was left out of the ${titles[store]} store; restore a backup: ` +
          "DATA_DIR=NEW bun run sluice restore BACKUP",
      );
    if (checksum !== file.checksum) {
      throw new UserError(
        `${file.path} is not what the ${titles[store]} store was made with. If an unreleased version made it: ` +
          `${unreleasedRemedy}. If the file was edited: git checkout ${file.path}, and add a new one`,
      );
    }
  }
  return files.slice(done.length);
}

export function newerStore(store: StoreName, version: number): UserError {
  return new UserError(
    `the ${titles[store]} store is at migration ${version}, newer than this program; ${newerRemedy}`,
  );
}

// The numbered files of sql/: read, checked, and compared with those of a store; and their headers about older servers
// and duration. A new store runs the baseline, which makes what the files up to its number make, and those after it.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../../core/fault.ts";
import { newerRemedy, olderRemedy } from "../../core/version.ts";

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
  isBaseline: boolean;
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

/**
 * The files that are gone and that a store continues from, by the files behind it: the last one of c3da0212 (a store
 * without it is older), and the baselines of later commits.
 */
const lastGone: Readonly<Record<StoreName, readonly string[]>> = {
  postgres: ["0022_passes.sql", "0027_baseline.sql"],
  clickhouse: ["0016_replaced_parts.sql", "0025_baseline.sql"],
};

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
  return byStore((store) => files[store].at(-1)!.version);
}

/** Keyed by store, the last of the files that older servers are not compatible with; 0 without one. */
export function lastStops(files: MigrationFiles): Versions {
  return byStore((store) => files[store].findLast(({ olderGoOn }) => !olderGoOn)?.version ?? 0);
}

/** The files in order; their numbers run without a gap. The baseline has that of the last file whose work it does. */
export function readFolder(folder: string): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  let last: number | undefined;
  return names.toSorted().map((name) => {
    const path = `sql/${basename(folder)}/${name}`;
    const version = Number(/^(\d{4})_\w+\.sql$/.exec(name)?.[1]);
    const next = (last ?? version - 1) + 1;
    if (version !== next) {
      const expected = String(next || 1).padStart(4, "0");
      throw new UserError(
        `${path}: expected ${expected}_name.sql here, as the files are numbered without gaps`,
      );
    }
    const isBaseline = name.endsWith("_baseline.sql");
    const isShared = names.some((other) => other !== name && other.startsWith(name.slice(0, 5)));
    last = isBaseline && isShared ? version - 1 : version;
    const text = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    const checksum = new Bun.CryptoHasher("sha256").update(text).digest("hex");
    const declared = readHeaders(path, isBaseline ? plain : text);
    return { version, name, path, text, checksum, isBaseline, ...declared };
  });
}

/** The headers of a baseline: its tables are empty. */
const plain = "-- Older servers: go on.\n-- Takes: a moment.\n";

const durationShape =
  /^-- Takes: (?:a moment|([1-9]\d{0,5}) s for 20 million events, (measured|estimated))\.$/;

function readHeaders(path: string, text: string): Pick<Migration, "olderGoOn" | "duration"> {
  const [first = "", second = ""] = text.split("\n", 2);
  const olderGoOn = headers.get(first);
  if (olderGoOn === undefined)
    throw new UserError(`${path}: expected one of these as its first line: ${[...headers.keys()].join(" ")}`);
  const found = durationShape.exec(second);
  if (!found) {
    throw new UserError(
      `${path}: expected as its second line "-- Takes: a moment." or ` +
        '"-- Takes: N s for 20 million events, measured." (or estimated)',
    );
  }
  return { olderGoOn, duration: { seconds: Number(found[1] ?? 0), isMeasured: found[2] !== "estimated" } };
}

/**
 * The files that are not applied yet: of a new store the baseline and those after it, else those that it lacks.
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
  const baseline = files.find(({ isBaseline }) => isBaseline)!;
  const start = done.findLastIndex(({ name }) => name === baseline.name || lastGone[store].includes(name));
  const newest = done.at(-1);
  if (newest && newest.version > files.at(-1)!.version && !compatible.has(newest.version))
    throw newerStore(store, newest.version);
  if (newest && start < 0) throw olderStore(store, newest.name);
  const gone = done[start]?.name === baseline.name ? undefined : done[start];
  const later = done.slice(gone ? start + 1 : start);
  for (const { version, name, checksum } of later) {
    if (compatible.has(version)) continue;
    const file = files.find((known) => known.version === version && known.name === name);
    if (!file) throw olderStore(store, name);
    if (checksum !== file.checksum) {
      throw new UserError(
        `${file.path} is not what the ${titles[store]} store was made with; if it was edited: ` +
          `git checkout ${file.path}, and add a new one`,
      );
    }
  }
  const versions = new Set(later.map(({ version }) => version));
  const pending = files.filter(({ isBaseline, version }) => {
    const isNeeded = gone ? !isBaseline && version > gone.version : isBaseline || version > baseline.version;
    return isNeeded && !versions.has(version);
  });
  const [next] = pending;
  if (next && newest && next.version < newest.version)
    throw new UserError(
      `${next.path} was left out of the ${titles[store]} store; restore a backup: ` +
        "DATA_DIR=NEW bun run sluice restore BACKUP",
    );
  return pending;
}

/**
 * The number of the last file of a backup's store.
 * @throws UserError when this program cannot make the tables that its rows are of.
 */
export function readBackupVersion(store: StoreName, applied: AppliedMigration[]): number {
  const files = readMigrations()[store];
  listPending(files, applied, store);
  const [last] = applied.toSorted((a, b) => b.version - a.version);
  if (last && last.version >= files.find(({ isBaseline }) => isBaseline)!.version) return last.version;
  const name = last?.name ?? "no tables";
  throw new UserError(
    `an older version made the backup (its ${titles[store]} has ${name}); by the commit that made it: ` +
      "DATA_DIR=NEW bun run sluice restore BACKUP; then here: DATA_DIR=NEW bun run sluice migrate",
  );
}

export function olderStore(store: StoreName, name: string): UserError {
  return new UserError(
    `an older version of this program made the ${titles[store]} store (it has ${name}): ${olderRemedy}`,
  );
}

export function newerStore(store: StoreName, version: number): UserError {
  return new UserError(
    `the ${titles[store]} store is at migration ${version}, newer than this program; ${newerRemedy}`,
  );
}

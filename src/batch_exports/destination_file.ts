// Files in a folder the operator has opened, written by the embedded ClickHouse. Never outside that folder, and never
// seen half written: they get their names when they are whole.

import { existsSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import type { Means } from "./delivery.ts";
import type { FileConfig } from "./destination_config.ts";
import { DeliveryError } from "./failure.ts";
import { type ObjectStore, withNumber } from "./objects.ts";

/**
 * @param mark tells the unfinished files of one run from those of others.
 * @throws DeliveryError when files may not be written, or ClickHouse runs elsewhere.
 */
export function fileStore(
  config: FileConfig,
  { clickhouse, exportFileDir }: Means,
  mark: string,
): ObjectStore {
  const refusal = whyNoFiles({ clickhouse, exportFileDir });
  if (refusal !== undefined) throw new DeliveryError(refusal, true);
  const folder = openFolder(config, exportFileDir);
  const place = (key: string): string => {
    const path = resolve(folder, key);
    if (path.startsWith(`${folder}${sep}`)) return path;
    throw new DeliveryError("The prefix leaves the destination's folder", true);
  };
  const part = (key: string): string => `${place(key)}.${mark.replaceAll(/\W/g, "-")}.part`;
  return {
    secrets: [],
    settings: { engine_file_truncate_on_insert: 1 },
    open: (below) => {
      const path = resolve(folder, below);
      if (path !== folder) place(below);
      mkdirSync(path, { recursive: true });
      if (!`${realpathSync(path)}${sep}`.startsWith(`${folder}${sep}`)) {
        throw new DeliveryError("The prefix leaves the destination's folder", true);
      }
      return Promise.resolve();
    },
    file: (key, format, structure, compression) => ({
      text: "file({path:String}, {format:String}, {structure:String}, {compression:String})",
      params: { path: withNumber(part(key)), format, structure, compression },
    }),
    close: (keys) => {
      for (const key of keys) renameSync(part(key), place(key));
      return Promise.resolve();
    },
  };
}

/** Why this process cannot write files; undefined when it can. */
export function whyNoFiles({
  clickhouse,
  exportFileDir,
}: Pick<Means, "clickhouse" | "exportFileDir">): string | undefined {
  if (exportFileDir === undefined) {
    return "File destinations are switched off: EXPORT_FILE_DIR is not set";
  }
  if (clickhouse.embedded) return undefined;
  return "File destinations need the embedded ClickHouse: a remote one has other disks";
}

/** The destination's folder as it really is; made if it is not there. */
function openFolder({ path }: FileConfig, exportFileDir: string | undefined): string {
  if (exportFileDir === undefined) {
    throw new DeliveryError("File destinations are switched off: EXPORT_FILE_DIR is not set", true);
  }
  if (!existsSync(exportFileDir)) throw new DeliveryError("EXPORT_FILE_DIR does not exist", true);
  const root = realpathSync(exportFileDir);
  const wanted = join(root, path);
  mkdirSync(wanted, { recursive: true });
  const folder = realpathSync(wanted);
  if (folder === root || folder.startsWith(`${root}${sep}`)) return folder;
  throw new DeliveryError("The path leaves EXPORT_FILE_DIR", true);
}

/** Whether files can be written there, tried out. */
export function probeFolder(config: FileConfig, exportFileDir: string | undefined): void {
  const path = join(openFolder(config, exportFileDir), `.sluice-${crypto.randomUUID()}`);
  writeFileSync(path, "");
  rmSync(path, { force: true });
}

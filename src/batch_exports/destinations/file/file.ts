// Files in a folder of the operator, written by the embedded ClickHouse. They get their names when they are complete.

import { basename, join } from "node:path";
import { ExportError, exportError } from "../../failure.ts";
import { eventColumns } from "../../source/columns.ts";
import type { ExportServices, Writing } from "../../source/statements.ts";
import { destinationKind } from "../destination.ts";
import { checkFileChoice, files, prefix, type ValuesOf } from "../fields.ts";
import { type EngineStore, writtenByEngine } from "../objects/engine_store.ts";
import { deliverObjects, removeObjects } from "../objects/objects.ts";
import * as rules from "../value.ts";
import { type ExportFolder, openExportFolder } from "./export_folder.ts";

const fields = {
  /** A folder below EXPORT_FILE_DIR. */
  path: { kind: "str", otherwise: "", rule: rules.folderPath },
  prefix: { ...prefix, rule: rules.folderPrefix },
  ...files,
} as const;

type FileConfig = ValuesOf<typeof fields>;

export const file = destinationKind({
  fields,
  check: checkFileChoice,
  columns: eventColumns,
  problem: fileExportProblem,
  write: async (work, config) => await deliverObjects(work, writtenByEngine(fileStore(config, work)), config),
  remove: async (work, config, keys) =>
    await removeObjects(work, writtenByEngine(fileStore(config, work)), keys),
  probe: async ({ exportFileDir }, config) => probeFolder(config, exportFileDir),
});

/**
 * The run's `tag` distinguishes its unfinished files from those of others.
 * @throws ExportError when files may not be written, or ClickHouse runs elsewhere.
 */
function fileStore(config: FileConfig, { clickhouse, exportFileDir, tag }: Writing): EngineStore {
  const refusal = fileExportProblem({ clickhouse, exportFileDir });
  if (refusal !== undefined) throw new ExportError(refusal, true);
  let folder: ExportFolder | undefined;
  const opened = (): ExportFolder => {
    if (folder) return folder;
    throw new Error("the folder of a file is opened before the file");
  };
  const part = (key: string): string => `${basename(key)}.${tag.replaceAll(/\W/g, "-")}.part`;
  return {
    // `::` in a name is a part of it, and not the end of the name of an archive.
    settings: { engine_file_truncate_on_insert: 1, allow_archive_path_syntax: 0 },
    open: (below) => {
      folder = openExportFolder(exportFileDir, config.path, below);
    },
    prepare: (keys) => {
      for (const key of keys) opened().create(part(key));
    },
    file: (key, format, structure, compression) => ({
      text: "file({path:String}, {format:String}, {structure:String}, {compression:String})",
      params: { path: join(opened().path, part(key)), format, structure, compression },
    }),
    explain: (thrown) => {
      const { message, final } = exportError(thrown);
      // The path of the folder is the operator's and not shown.
      const publicMessage = folder ? message.replaceAll(folder.path, "the folder") : message;
      return Promise.resolve(new ExportError(publicMessage, final));
    },
    remove: (_, key) => {
      // A killed attempt may have left the unfinished one.
      for (const name of [basename(key), part(key)]) opened().remove(name);
      return Promise.resolve();
    },
    close: (keys) => {
      for (const key of keys) opened().rename(part(key), basename(key));
    },
    end: () => {
      folder?.close();
      folder = undefined;
    },
  };
}

/** Why this process cannot write files; undefined when it can. */
function fileExportProblem(services: Pick<ExportServices, "clickhouse" | "exportFileDir">) {
  if (services.exportFileDir === undefined)
    return "File destinations are switched off: EXPORT_FILE_DIR is not set";
  if (services.clickhouse.embedded) return undefined;
  return "File destinations need the embedded ClickHouse: a remote one has other disks";
}

/** Creates the folder and a file in it, and removes the file. @throws ExportError */
function probeFolder(config: FileConfig, exportFileDir: string | undefined): void {
  const folder = openExportFolder(exportFileDir, config.path);
  const name = `.sluice-${crypto.randomUUID()}`;
  try {
    folder.create(name);
  } finally {
    folder.close();
  }
}

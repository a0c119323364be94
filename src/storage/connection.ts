// How a command finds the embedded stores of the server that owns a DATA_DIR: a file only its user may read.
// Never outlives the server, but for a kill; whoever reads it checks who owns the folder.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Connection {
  /** The process that wrote it. */
  pid?: number;
  /** Of embedded stores only: a remote one is the operator's to tell. */
  database_url?: string;
  clickhouse_url?: string;
}

export function writeConnection(dataDir: string, connection: Connection): void {
  const path = pathOf(dataDir);
  writeFileSync(`${path}.part`, JSON.stringify({ ...connection, pid: process.pid }), { mode: 0o600 });
  renameSync(`${path}.part`, path);
}

/** Undefined when there is none. */
export function readConnection(dataDir: string): Connection | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(pathOf(dataDir), "utf8"));
    return typeof found === "object" && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

export function removeConnection(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true });
}

function pathOf(dataDir: string): string {
  return join(dataDir, "connection.json");
}

// The file in which the server that owns a DATA_DIR publishes its embedded stores to commands; only its user may read
// it. A killed server leaves it behind, so readers check who owns the folder.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Connection {
  pid?: number;
  /** Embedded stores only: the addresses of remote ones are settings. */
  database_url?: string;
  clickhouse_url?: string;
}

export function writeConnection(dataDir: string, connection: Connection): void {
  const path = buildPath(dataDir);
  writeFileSync(`${path}.part`, JSON.stringify({ ...connection, pid: process.pid }), { mode: 0o600 });
  renameSync(`${path}.part`, path);
}

export function readConnection(dataDir: string): Connection | undefined {
  try {
    const found: unknown = JSON.parse(readFileSync(buildPath(dataDir), "utf8"));
    return typeof found === "object" && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

export function removeConnection(dataDir: string): void {
  rmSync(buildPath(dataDir), { force: true });
}

/** The name of an embedded Postgres, instead of its address: its port changes with each start. */
export const embeddedAddress = "embedded";

/** The address of a Postgres: host:port/name, without user, password and options. */
export function nameDatabase(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return embeddedAddress;
  const [location = ""] = databaseUrl.slice(databaseUrl.indexOf("://") + 3).split("?");
  return location.slice(location.lastIndexOf("@") + 1);
}

/** Whether host and name are the same; the port may be that of a pooler. */
export function isSameDatabase(left: string, right: string): boolean {
  const [a, b] = [left, right].map((location) => {
    const [server = "", ...name] = location.split("/");
    return [server.replace(/:\d{1,5}$/, ""), ...name].join("/");
  });
  return a === b;
}

function buildPath(dataDir: string): string {
  return join(dataDir, "connection.json");
}

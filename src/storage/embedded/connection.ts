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

/** How an embedded Postgres is told: its port is another one in each life. */
export const embeddedAddress = "embedded";

/** Where a Postgres is: host:port/name, without user, password and options. */
export function databaseOf(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return embeddedAddress;
  const [place = ""] = databaseUrl.slice(databaseUrl.indexOf("://") + 3).split("?");
  return place.slice(place.lastIndexOf("@") + 1);
}

/** Whether two places are of one host and name; a port says little, as that of a pooler. */
export function isSameDatabase(one: string, other: string): boolean {
  const [a, b] = [one, other].map((place) => {
    const [server = "", ...name] = place.split("/");
    return [server.replace(/:\d{1,5}$/, ""), ...name].join("/");
  });
  return a === b;
}

function pathOf(dataDir: string): string {
  return join(dataDir, "connection.json");
}

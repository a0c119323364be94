// The ClickHouse that tests run on, by SLUICE_TEST_STORES:
//
// embedded  the server's own, by default remote    a process of its own, spoken to over HTTP, as CLICKHOUSE_URL names
// one cluster   the same as a cluster of one shard (cluster.ts)
//
// test/run_on.ts runs the tests that hold on the last two.

import { existsSync } from "node:fs";
import { join } from "node:path";

const modes = ["embedded", "remote", "cluster"] as const;
type StoresMode = (typeof modes)[number];

export const storesMode: StoresMode = readMode(process.env["SLUICE_TEST_STORES"] ?? "embedded");

function readMode(given: string): StoresMode {
  const mode = modes.find((known) => known === given);
  if (!mode) throw new Error(`SLUICE_TEST_STORES is none of ${modes.join(", ")}: ${given}`);
  return mode;
}

/** As stores are opened on it. */
export interface RemoteClickHouse {
  clickhouseUrl: string;
  clickhouseCluster?: string;
}

/** By DATA_DIR: a folder that is opened again finds its rows. */
const known = new Map<string, RemoteClickHouse>();

/** The ClickHouse that belongs to a folder, if one was started for it. */
export function knownRemote(dataDir: string | undefined): RemoteClickHouse | undefined {
  return dataDir === undefined ? undefined : known.get(dataDir);
}

/**
 * The ClickHouse that belongs to a folder, started when it is first requested; undefined where the embedded one serves.
 * A remote one has its tables from the start when the folder was made with them, or `made` says so; a cluster never.
 */
export async function remoteFor(
  dataDir: string,
  made = isMade(dataDir),
): Promise<RemoteClickHouse | undefined> {
  if (storesMode === "embedded") return undefined;
  const remote = known.get(dataDir) ?? (await startRemote(made));
  known.set(dataDir, remote);
  return remote;
}

/** Whether the folder holds an embedded ClickHouse. */
export function isMade(dataDir: string): boolean {
  return existsSync(join(dataDir, "clickhouse"));
}

async function startRemote(made: boolean): Promise<RemoteClickHouse> {
  if (storesMode === "cluster") {
    const { clusterName, startClusterFront } = await import("./cluster.ts");
    return { clickhouseUrl: (await startClusterFront()).url, clickhouseCluster: clusterName };
  }
  const { startFront } = await import("./stores.ts");
  const { makeStoresFolder } = await import("./made_stores.ts");
  const front = await startFront(made ? await makeStoresFolder(["clickhouse"]) : undefined);
  return { clickhouseUrl: front.url };
}

/** A remote ClickHouse as settings of a server. */
export function settingsOf(remote: RemoteClickHouse | undefined): Record<string, string> {
  if (!remote) return {};
  const { clickhouseUrl, clickhouseCluster } = remote;
  return {
    CLICKHOUSE_URL: clickhouseUrl,
    ...(clickhouseCluster !== undefined && { CLICKHOUSE_CLUSTER: clickhouseCluster }),
  };
}

// A cluster of one shard for tests: the embedded engine, configured with a cluster that is itself, behind a proxy that
// takes away what it cannot do: definitions for other servers (ON CLUSTER), replicas, and connections to itself.

import { mkdirSync, writeFileSync } from "node:fs";
import { silentLog } from "../../src/core/log.ts";
import { openStores, type Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";
import { startProxy } from "./proxy.ts";
import { startFront, type TestFront } from "./stores.ts";

export const clusterName = "one";

/** What a test may have otherwise than a cluster that works. */
interface ClusterShape {
  /** Keeps the replicated engines: their tables can be made, but not written. */
  replicated?: boolean;
  /** Present by default. */
  keeper?: keyof typeof keepers;
  /** By macro. */
  macros?: Record<string, string>;
  /** Settings of every statement, as a user's profile would have them. */
  settings?: Record<string, string>;
  /** `<shard>` elements of the cluster. */
  shards?: string;
  dataDir?: string;
}

/** An address without a default database: the engine takes it for itself and opens no connection. */
export const ownShard =
  "<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host><port>9000</port></replica></shard>";

export interface ClusterFront {
  /** As CLICKHOUSE_URL says it. */
  url: string;
  front: TestFront;
  /** Statements that named all servers, as they were sent. */
  everywhere: string[];
}

export async function startClusterFront(shape: ClusterShape = {}): Promise<ClusterFront> {
  const dataDir = shape.dataDir ?? makeFolder();
  configureCluster(dataDir, shape);
  const front = await startFront(dataDir);
  const everywhere: string[] = [];
  const url = startProxy(front.url, async (request) => {
    const asked = new URL(request.url);
    asked.port = String(front.port);
    asked.searchParams.delete("prefer_localhost_replica");
    for (const [name, value] of Object.entries(shape.settings ?? {})) asked.searchParams.set(name, value);
    const { method, headers, signal } = request;
    // An INSERT of rows names its statement in the URL.
    const isNative = asked.searchParams.has("query");
    const body = isNative ? request.body : withoutOthers(await request.arrayBuffer(), shape, everywhere);
    headers.delete("content-length");
    headers.delete("host");
    // A connection that was kept might be closed by the engine at the moment it is used again.
    const sent = { method, headers, body, signal, decompress: false, keepalive: false };
    const reply = await fetch(asked, sent).catch(
      () => new Response("the engine is unavailable", { status: 502 }),
    );
    return new Response(reply.body, { status: reply.status, headers: reply.headers });
  });
  return { url, front, everywhere };
}

const keepers = {
  there: "<zookeeper><implementation>testkeeper</implementation></zookeeper>",
  none: "",
  // Nothing listens on the port of discard.
  away: "<zookeeper><node><host>127.0.0.1</host><port>9</port></node></zookeeper>",
};

export function configureCluster(
  dataDir: string,
  { macros, shards = ownShard, keeper = "there" }: ClusterShape = {},
): void {
  const own = Object.entries(macros ?? { shard: "1", replica: "a" });
  mkdirSync(`${dataDir}/clickhouse.d`, { recursive: true });
  writeFileSync(
    `${dataDir}/clickhouse.d/cluster.xml`,
    `<clickhouse>
      <tcp_port>9000</tcp_port>
      <remote_servers><${clusterName}>${shards}</${clusterName}></remote_servers>
      <macros>${own.map(([name, value]) => `<${name}>${value}</${name}>`).join("")}</macros>
      ${keepers[keeper]}
    </clickhouse>`,
  );
}

/** A statement as one server can run it. */
function withoutOthers(body: ArrayBuffer, { replicated }: ClusterShape, everywhere: string[]): Buffer {
  const text = Buffer.from(body).toString("latin1");
  if (!/ ON CLUSTER |\bReplicated/.test(text)) return Buffer.from(body);
  if (text.includes(" ON CLUSTER ")) everywhere.push(Buffer.from(body).toString());
  const alone = text.replaceAll(` ON CLUSTER '${clusterName}'`, "");
  return Buffer.from(replicated ? alone : withoutReplicas(alone), "latin1");
}

/** The engines of the same kind without replicas. */
export function withoutReplicas(text: string): string {
  return text.replaceAll(/\bReplicated(\w*MergeTree)\('[^']*', '[^']*'(?:, )?/g, "$1(");
}

/** An embedded Postgres, and a cluster of one shard, not migrated; closed with the test file. */
export async function openClusterStores(
  dataDir: string = makeFolder(),
  shape: ClusterShape = {},
): Promise<Stores & { cluster: ClusterFront }> {
  const cluster = await startClusterFront(shape);
  const stores = await openStores({
    dataDir,
    clickhouseUrl: cluster.url,
    clickhouseCluster: clusterName,
    requireReachable: true,
    log: silentLog,
  });
  later(() => stores.close());
  return { ...stores, cluster };
}

// Remote stores for tests: databases of their own on the embedded stores of a server that lends them.

import { readConnection } from "../../src/storage/embedded/connection.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { settingsOf } from "./remote_clickhouse.ts";
import { type Environment, type Server, startServer, storesOf } from "./server.ts";

export interface Lender {
  /** The lending server's own connections. */
  stores: Stores;
  /** Makes an empty Postgres database; resolves to settings that use it and a ClickHouse database of that name. */
  lend(name: string): Promise<Environment>;
  /** Lets clients connect to a database, or refuses them and ends their connections. */
  allow(name: string, allowed: boolean): Promise<void>;
}

export async function openLender(): Promise<Lender> {
  const server: Server = await startServer();
  const stores = await storesOf(server);
  const connection = readConnection(server.dataDir);
  const { remote } = server;
  const lend = async (name: string): Promise<Environment> => {
    await stores.sql`CREATE DATABASE ${stores.sql(name)}`;
    return {
      DATABASE_URL: (connection?.database_url ?? "").replace(/\/\w+$/, `/${name}`),
      ...settingsOf(remote),
      CLICKHOUSE_URL: (remote?.clickhouseUrl ?? connection?.clickhouse_url ?? "").replace(
        /\/\w+$/,
        `/${name}`,
      ),
      SECRET_KEY: "a secret key for a test",
      FLUSH_INTERVAL_MS: "50",
    };
  };
  const allow = async (name: string, allowed: boolean): Promise<void> => {
    const { sql } = stores;
    await sql.unsafe(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${String(allowed)}`);
    if (!allowed)
      await sql`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ${name}`;
  };
  return { stores, lend, allow };
}

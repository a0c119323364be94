// Empty databases, and folders of migrations: this program's own, with others after them as a newer version has them.

import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog as log } from "../../src/core/log.ts";
import { openClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { readConnection } from "../../src/storage/embedded/connection.ts";
import { openPostgres } from "../../src/storage/postgres/postgres.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";
import { openTestStores } from "./stores.ts";

type Clients = Pick<Stores, "sql" | "clickhouse">;

export interface EmptyStores extends Clients {
  /** Further clients of the same databases. */
  again(): Clients;
}

/** Databases on the same embedded stores. */
export async function openDatabases(): Promise<() => Promise<EmptyStores>> {
  const folder = makeFolder();
  const lender = await openTestStores(folder);
  let databases = 0;
  return async () => {
    const name = `empty_${++databases}`;
    await lender.sql`CREATE DATABASE ${lender.sql(name)}`;
    const connection = readConnection(folder);
    const again = () => {
      const sql = openPostgres((connection?.database_url ?? "").replace(/\/\w+$/, `/${name}`), { log });
      const clickhouse = openClickHouse((connection?.clickhouse_url ?? "").replace(/\/\w+$/, `/${name}`));
      later(async () => {
        await sql.end();
        await clickhouse.close();
      });
      return { sql, clickhouse };
    };
    return { ...again(), again };
  };
}

type Files = Record<string, string>;

interface Folders {
  postgresDir: string;
  clickhouseDir: string;
}

/** Folders with these files. */
export function folders(postgres: Files, clickhouse: Files): Folders {
  return written(makeFolder(), postgres, clickhouse);
}

/** Folders with this program's own files, and these. */
export function ownAnd(postgres: Files, clickhouse: Files): Folders {
  const folder = makeFolder();
  cpSync(join(import.meta.dir, "../../sql"), folder, { recursive: true });
  return written(folder, postgres, clickhouse);
}

function written(folder: string, postgres: Files, clickhouse: Files): Folders {
  for (const [store, files] of Object.entries({ postgres, clickhouse })) {
    mkdirSync(`${folder}/${store}`, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(`${folder}/${store}/${name}`, text);
  }
  return { postgresDir: `${folder}/postgres`, clickhouseDir: `${folder}/clickhouse` };
}

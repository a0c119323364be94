// The Postgres client: opening it and checking that it answers. The only file that imports postgres for our own tables.

import postgres from "postgres";
import { withinMs } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import { storageLimits } from "../limits.ts";

/** A pool of connections, used as a tagged template; values in `${}` are parameters. */
export type Postgres = postgres.Sql;
export type PostgresTransaction = postgres.TransactionSql;
export type PostgresFragment = postgres.PendingQuery<postgres.Row[]>;

/** Opens a pool, which connects on first use and reconnects by itself. Close it with `end()`. */
export function openPostgres(
  url: string,
  { log, connectionsMax: max = storageLimits.postgresConnectionsMax }: { log: Log; connectionsMax?: number },
): Postgres {
  return postgres(url, {
    max,
    connect_timeout: limits.connectMsMax / 1000,
    idle_timeout: storageLimits.postgresIdleSecondsMax,
    // Seconds. By default the pause grows to 20 s, during which a server that is back would seem down.
    backoff: (retries) => Math.min(1, 0.05 * 2 ** retries),
    connection: { application_name: "sluice" },
    onnotice: (notice) => log.debug("postgres notice", { notice: notice["message"] }),
    types: { bigint: { to: 20, from: [20], serialize: String, parse: readBigint } },
  });
}

/** A connection of its own; `using` returns it to the pool. */
export async function reserve(sql: Postgres) {
  const connection = await sql.reserve();
  return Object.assign(connection, { [Symbol.dispose]: () => connection.release() });
}

/** Resolves when Postgres has answered a query. @throws the client's error, or DeadlineError after `msMax`. */
export async function pingPostgres(sql: Postgres, msMax: number = limits.healthMsMax): Promise<void> {
  await withinMs(sql`SELECT 1`.execute(), msMax);
}

/** A number while it is exact, as all our counts and ids are. */
function readBigint(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

const special = /["\\]/g;

/** `{"a","b"}`, with quotes and backslashes escaped; to be cast: `${arrayText(names)}::text::text[]`. */
export function arrayText(values: readonly (string | number)[]): string {
  if (values.length === 0) return "{}";
  if (typeof values[0] === "number") return `{${values.join(",")}}`;
  return `{"${(values as readonly string[]).map(quoted).join('","')}"}`;
}

function quoted(value: string): string {
  return value.includes('"') || value.includes("\\") ? value.replace(special, "\\$&") : value;
}

// A process that loses its Postgres backend in the middle of a transaction, and says how that went.
// Never started but by the test of it.

import { silentLog } from "../../src/core/log.ts";
import { openPostgres, type Postgres } from "../../src/storage/postgres/postgres.ts";

export interface Told {
  /** The code the transaction was rejected with; "none" when it was not rejected. */
  rejected: string;
  /** The error of the transaction's own statement, sent after the pool had opened its connection again. */
  stale: string;
  /** Rows of the transaction that were stored all the same. */
  stored: number;
  /** Later queries that were answered, of ten. */
  answered: number;
}

const ways = ["idle", "busy", "savepoint", "throwing", "killed", "reserved"] as const;
export type Way = (typeof ways)[number];

const [url, way] = process.argv.slice(2) as [string, Way];
// One connection, so that what is left of the transaction meets the very connection the pool opens again.
const sql = openPostgres(url, { log: silentLog, connectionsMax: 1 });
const other = openPostgres(url, { log: silentLog, connectionsMax: 1 });
const table = `rows_${way}`;
await other`CREATE TABLE ${other(table)} (n int)`;

let stale = "none";
let bodyEnded: Promise<void> = Promise.resolve();
const rejected = await (way === "reserved" ? reserved() : transaction());
await bodyEnded;
const answers = await Promise.all(Array.from({ length: 10 }, () => answered(sql)));
const [row] = await other<{ stored: number }[]>`SELECT count(*)::int AS stored FROM ${other(table)}`;
await Promise.all([sql.end(), other.end()]);
const told: Told = { rejected, stale, stored: row?.stored ?? -1, answered: answers.filter(Boolean).length };
process.stdout.write(`${JSON.stringify(told)}\n`);

async function transaction(): Promise<string> {
  return await codeOf(
    sql.begin((tx) => {
      const body = way === "savepoint" ? tx.savepoint((inner) => lose(inner)) : lose(tx);
      bodyEnded = body.then(
        () => undefined,
        () => undefined,
      );
      return body;
    }),
  );
}

async function reserved(): Promise<string> {
  const connection = await sql.reserve();
  const code = await codeOf(lose(connection));
  connection.release();
  return code;
}

type Asking = Pick<Postgres, "unsafe">;

async function lose(tx: Asking): Promise<void> {
  const [backend] = await tx.unsafe<{ pid: number }[]>("SELECT pg_backend_pid() AS pid");
  const pid = backend?.pid ?? 0;
  const running = way === "busy" ? codeOf(tx.unsafe("SELECT pg_sleep(60)").execute()) : undefined;
  if (way === "killed") process.kill(pid, "SIGKILL");
  else await other`SELECT pg_terminate_backend(${pid})`;
  await running;
  // Answered by a backend of its own, once the pool has noticed the loss: not before the old one is gone.
  while ((await backendOf(sql)) === pid || !(await answered(other))) await Bun.sleep(10);
  if (way === "throwing") throw new Error("the body's own mistake");
  stale = await codeOf(tx.unsafe(`INSERT INTO ${table} VALUES (1)`).execute());
  throw new Error("the body continues after its connection is lost");
}

async function backendOf(asked: Postgres): Promise<number | undefined> {
  try {
    return (await asked<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]?.pid;
  } catch {
    return undefined;
  }
}

async function answered(asked: Postgres): Promise<boolean> {
  return (await codeOf(asked`SELECT 1`)) === "none";
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "none";
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
  }
}

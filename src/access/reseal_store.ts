// Re-encrypts stored secrets from SECRET_KEY_BEFORE to SECRET_KEY, at a start that has both.

import { UserError } from "../core/fault.ts";
import { type Log, reasonOf } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Secrets } from "./secret.ts";

/** The columns with sealed texts. */
const columns = [
  ["batch_exports", "destination_secrets"],
  ["sharing_configurations", "token_sealed"],
] as const;

const rowsMax = 500;

/** As reseal(), and logs the result. */
export async function resealAll(sql: Postgres, secrets: Secrets, log: Log): Promise<void> {
  try {
    log.info("stored secrets are sealed with SECRET_KEY", { ...(await reseal(sql, secrets)) });
  } catch (thrown) {
    log.warn("stored secrets are not all sealed with SECRET_KEY yet", { reason: reasonOf(thrown) });
  }
}

/** Seals again what `secrets` can open. Resolves to the number of such texts, and of those that no known key opens. */
async function reseal(sql: Postgres, secrets: Secrets): Promise<{ sealed: number; unreadable: number }> {
  const count = { sealed: 0, unreadable: 0 };
  for (const [table, column] of columns) {
    let rows: { id: string; text: Uint8Array }[] = [];
    do {
      const after = rows.at(-1)?.id ?? "";
      rows = await sql<{ id: string; text: Uint8Array }[]>`
        SELECT id::text, ${sql(column)} AS text FROM ${sql(table)}
        WHERE id::text > ${after} AND length(${sql(column)}) > 0
          AND substring(${sql(column)} FROM 2 FOR ${secrets.keyId.length}::integer) <> ${secrets.keyId}
        ORDER BY id::text LIMIT ${rowsMax}`;
      for (const { id, text } of rows) {
        const anew = sealedAnew(secrets, text);
        if (!anew) count.unreadable += 1;
        else {
          // A row that was changed meanwhile is sealed already.
          const changed = await sql`
            UPDATE ${sql(table)} SET ${sql(column)} = ${anew} WHERE id::text = ${id} AND ${sql(column)} = ${text}`;
          count.sealed += changed.count;
        }
      }
    } while (rows.length === rowsMax);
  }
  return count;
}

function sealedAnew(secrets: Secrets, text: Uint8Array): Uint8Array | undefined {
  try {
    return secrets.seal(secrets.open(text));
  } catch (thrown) {
    if (thrown instanceof UserError) return undefined;
    throw thrown;
  }
}

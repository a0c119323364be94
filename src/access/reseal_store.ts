// Stored secrets and their keys, at a start: they are sealed again from SECRET_KEY_BEFORE to SECRET_KEY where both are
// set, and those that no key opens are counted.

import { UserError } from "../core/fault.ts";
import { type Log, toReason } from "../core/log.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { keyIdBytes, lostKeyRemedy, type Secrets } from "./secret.ts";

const columns = [
  ["batch_exports", "destination_secrets"],
  ["sharing_configurations", "token_sealed"],
] as const;

const rowsMax = 500;

/** Logs how many secrets no key opens; first seals all again, if `isChanged`. */
export async function checkSecrets(sql: Postgres, secrets: Secrets, isChanged: boolean, log: Log) {
  try {
    const sealed = isChanged && (await reseal(sql, secrets));
    if (isChanged) log.info("stored secrets are sealed with SECRET_KEY", { sealed });
    const count = await countUnreadable(sql, secrets.keyIds);
    if (count > 0) log.warn(`no key opens some of the stored secrets; ${lostKeyRemedy}`, { count });
  } catch (thrown) {
    log.warn("stored secrets are not all sealed with SECRET_KEY yet", { reason: toReason(thrown) });
  }
}

export async function countUnreadable(sql: Postgres, keyIds: readonly Uint8Array[]): Promise<number> {
  const known = keyIds.map((id) => Buffer.from(id).toString("hex"));
  let count = 0;
  for (const [table, column] of columns) {
    const id = sql`encode(substring(${sql(column)} FROM 2 FOR ${keyIdBytes}::integer), 'hex')`;
    const [found] = await sql<{ count: number }[]>`
      SELECT count(*)::integer AS count FROM ${sql(table)}
      WHERE length(${sql(column)}) > 0 AND ${id} <> ALL(${known}::text[])`;
    count += found?.count ?? 0;
  }
  return count;
}

/** Seals again what `secrets` can open; resolves to the number of such texts. */
async function reseal(sql: Postgres, secrets: Secrets): Promise<number> {
  let sealed = 0;
  const [sealing] = secrets.keyIds;
  for (const [table, column] of columns) {
    let rows: { id: string; text: Uint8Array }[] = [];
    do {
      const after = rows.at(-1)?.id ?? "";
      rows = await sql<{ id: string; text: Uint8Array }[]>`
        SELECT id::text, ${sql(column)} AS text FROM ${sql(table)}
        WHERE id::text > ${after} AND length(${sql(column)}) > 0
          AND substring(${sql(column)} FROM 2 FOR ${keyIdBytes}::integer) <> ${sealing!}
        ORDER BY id::text LIMIT ${rowsMax}`;
      for (const { id, text } of rows) {
        const anew = sealedAnew(secrets, text);
        if (!anew) continue;
        // A row that was changed meanwhile is sealed already.
        const changed = await sql`
          UPDATE ${sql(table)} SET ${sql(column)} = ${anew} WHERE id::text = ${id} AND ${sql(column)} = ${text}`;
        sealed += changed.count;
      }
    } while (rows.length === rowsMax);
  }
  return sealed;
}

function sealedAnew(secrets: Secrets, text: Uint8Array): Uint8Array | undefined {
  try {
    return secrets.seal(secrets.open(text));
  } catch (thrown) {
    if (thrown instanceof UserError) return undefined;
    throw thrown;
  }
}

// What the operations of persons are made with.

import type { Clock } from "../core/clock.ts";
import { present, uuidOf } from "../http/found.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { readsOf } from "../storage/clickhouse/query_options.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { CountCache } from "../work/count_cache.ts";
import { findMainId } from "./reading/main_id_store.ts";

export interface PersonParts {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
}

export type CountedParts = PersonParts & { counts: CountCache };

export const nobody = "Person not found.";

/** The main id of the person that a path names. @throws Fault not_found. */
export async function mainIdOf(
  { clickhouse }: Pick<PersonParts, "clickhouse">,
  project: { id: number },
  uuid: string,
): Promise<string> {
  return present(await findMainId(readsOf(clickhouse, project.id), uuidOf(uuid, nobody)), nobody);
}

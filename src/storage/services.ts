// The services that most rooms are opened with.

import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { ClickHouse } from "./clickhouse/clickhouse.ts";
import type { Postgres } from "./postgres/postgres.ts";

export interface Services {
  sql: Postgres;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Log;
}

export type Uses<Names extends keyof Services> = Pick<Services, Names>;

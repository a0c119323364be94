// The settings of a Postgres table.

import { events, required, type ValuesOf } from "../fields.ts";
import * as rules from "../value.ts";

export const postgresFields = {
  user: { ...required, secret: true, rule: rules.filled },
  password: { ...required, secret: true },
  host: { ...required, place: true, rule: rules.filled },
  database: { ...required, rule: rules.name },
  port: { kind: "int", otherwise: 5432, place: true, rule: rules.portNumber },
  schema: { kind: "str", otherwise: "public", rule: rules.name },
  table_name: { kind: "str", otherwise: "events", rule: rules.name },
  has_self_signed_cert: { kind: "bool", otherwise: false },
  ...events,
} as const;

export type PostgresConfig = ValuesOf<typeof postgresFields>;

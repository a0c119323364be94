// A Postgres destination. Rows stream through this process into one transaction: ClickHouse's postgresql() commits by
// itself and cannot undo a part of an earlier attempt.

import { toCode, toReason } from "../../../core/log.ts";
import { openForeignPostgres } from "../../../storage/postgres/foreign_postgres.ts";
import type { Postgres } from "../../../storage/postgres/postgres.ts";
import { ExportError, exportError } from "../../failure.ts";
import { tableColumns } from "../../source/columns.ts";
import { checkHost, type ExportWork, rowStream, type Writing } from "../../source/statements.ts";
import { toSelection } from "../../source/store.ts";
import { destinationKind } from "../destination.ts";
import { events, required, type ValuesOf } from "../fields.ts";
import * as rules from "../value.ts";
import * as table from "./table_store.ts";

const fields = {
  user: { ...required, secret: true, rule: rules.filled },
  password: { ...required, secret: true },
  host: { ...required, isTarget: true, rule: rules.filled },
  database: { ...required, rule: rules.name },
  port: { kind: "int", otherwise: 5432, isTarget: true, rule: rules.portNumber },
  schema: { kind: "str", otherwise: "public", rule: rules.name },
  table_name: { kind: "str", otherwise: "events", rule: rules.name },
  has_self_signed_cert: { kind: "bool", otherwise: false },
  ...events,
} as const;

type PostgresConfig = ValuesOf<typeof fields>;

export const postgres = destinationKind({
  fields,
  findHost: ({ host }) => ({ field: "host", host: String(host) }),
  columns: tableColumns,
  write,
  probe: async (work, config, rows = { model: "events", selected: undefined }) => {
    const problem = await connected(config, work, (sql) => table.findProblem(sql, config, rows));
    if (problem !== undefined) throw new ExportError(problem, true);
  },
});

/** @returns the number of rows of the interval in the table. */
async function write(work: ExportWork, config: PostgresConfig): Promise<number> {
  return await connected(config, work, async (sql) => {
    const { source, days, rows } = work;
    const { model, compiled } = source;
    const identity = table.created[model].identity.filter((name) => !compiled || name !== "team_id");
    const selected = source.columns.map(({ name }) => name);
    const missing = identity.find((name) => !selected.includes(name));
    if (missing !== undefined) {
      const why = "a retry tells by it which rows are there already";
      throw new ExportError(`A native_query into Postgres has to select ${missing}: ${why}`, true);
    }
    const columns = compiled ? selected : await table.createTable(sql, config, model, selected);
    const stored = source.columns.filter(({ name }) => columns.includes(name));
    const { select } = toSelection({ ...source, columns: stored }, "columns", days);
    const chunks = () => rowStream(work, select, "TabSeparated");
    const layout = { columns, identity };
    try {
      return await table.replaceRows(sql, config, layout, chunks(), rows);
    } catch (thrown) {
      if (!table.isRowRefusal(thrown)) throw thrown;
    }
    return await table.replaceAcceptedRows(sql, config, layout, chunks(), work);
  });
}

async function connected<T>(config: PostgresConfig, work: Writing, use: (sql: Postgres) => Promise<T>) {
  const { addresses, abort } = work;
  const { host, port, user, password, database, has_self_signed_cert: selfSigned } = config;
  await checkHost(addresses, host);
  let sql: Postgres | undefined;
  const end = (): void => void sql?.end({ timeout: 0 }).catch(() => {});
  try {
    const address = await addresses.connectable(host);
    sql = await openForeignPostgres({ address, host, port, user, password, database, selfSigned });
    abort.addEventListener("abort", end, { once: true });
    abort.throwIfAborted();
    return await use(sql);
  } catch (thrown) {
    throw toFailure(thrown);
  } finally {
    abort.removeEventListener("abort", end);
    end();
  }
}

/** Classes of permanent errors: rights, names, types, values, and wrong passwords. */
const wrongForGood = /^(28|3D|3F|42|22|23|0A)/;

function toFailure(thrown: unknown): ExportError {
  const code = toCode(thrown);
  if (!/^[0-9A-Z]{5}$/.test(code)) return exportError(thrown);
  return new ExportError(toReason(thrown), wrongForGood.test(code));
}

// An export in a reply, without its secrets.

import { Fault } from "../../core/fault.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { SqlParser } from "../../query/sql/parser/parser.ts";
import type { BatchExport } from "../model.ts";
import { writtenColumns } from "../query/compile.ts";
import type { ShownExport } from "../stores/export_store.ts";

/** @throws Fault unavailable when its query cannot be read now. */
export async function shownExport(
  parse: SqlParser["parse"],
  stored: Omit<ShownExport, "destination_secrets">,
): Promise<BatchExport> {
  return {
    id: stored.id,
    team_id: stored.project_id,
    name: stored.name,
    model: stored.model,
    destination: { type: stored.destination_type, config: stored.destination_config },
    interval: stored.interval,
    paused: stored.paused,
    created_at: isoOf(stored.created_at),
    last_updated_at: isoOf(stored.last_updated_at),
    last_paused_at: stored.last_paused_at,
    start_at: stored.start_at,
    end_at: stored.end_at,
    latest_runs: stored.latest_runs,
    native_query: stored.native_query,
    schema: await schemaOf(parse, stored),
    filters: stored.filters,
  };
}

/** The columns of its query, as the owner wrote them. */
async function schemaOf(
  parse: SqlParser["parse"],
  { native_query, model, project_id }: Pick<ShownExport, "native_query" | "model" | "project_id">,
): Promise<BatchExport["schema"]> {
  if (native_query === null) return null;
  try {
    const fields = await writtenColumns(parse, native_query, { model, project_id });
    return { fields, values: {}, hogql_query: native_query };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "invalid_input") throw thrown;
    // An earlier version accepted the query; its runs report what is wrong with it.
    return null;
  }
}

// An export in a reply, without its secrets.

import { yieldToEventLoop } from "../../core/clock.ts";
import { isoOf } from "../../http/fields/field_time.ts";
import type { BatchExport } from "../model.ts";
import { writtenColumns } from "../query/compile.ts";
import type { ShownExport } from "../stores/export_store.ts";

/** The exports of a page. Queries are parsed again, so the event loop gets a turn behind each. */
export async function shownExports(
  page: readonly Omit<ShownExport, "destination_secrets">[],
): Promise<BatchExport[]> {
  const shown: BatchExport[] = [];
  for (const stored of page) {
    shown.push(shownExport(stored));
    if (stored.native_query !== null) await yieldToEventLoop();
  }
  return shown;
}

export function shownExport(stored: Omit<ShownExport, "destination_secrets">): BatchExport {
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
    schema: schemaOf(stored),
    filters: stored.filters,
  };
}

/** The columns of its query, as the owner wrote them. */
function schemaOf({
  native_query,
  model,
}: Pick<ShownExport, "native_query" | "model">): BatchExport["schema"] {
  if (native_query === null) return null;
  try {
    return { fields: writtenColumns(native_query, model), values: {}, hogql_query: native_query };
  } catch {
    // An earlier version accepted the query; its runs report what is wrong with it.
    return null;
  }
}

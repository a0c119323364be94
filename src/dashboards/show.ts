// A dashboard with its tiles, as replies show it.

import { present } from "../http/fields/field_fault.ts";
import type { QueryCaller } from "../query/permits.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { getDashboard } from "./store.ts";
import { listTiles } from "./tile_store.ts";

export interface DashboardParts {
  sql: Postgres;
  /** Shows insights of a project by id; with their results for a caller with scopes. */
  insights: (
    project_id: number,
    ids: readonly number[],
    caller?: QueryCaller,
  ) => Promise<Map<number, { last_refresh: string | null; is_cached: boolean }>>;
  /** Lists the properties that SQL on a dashboard would show to whoever has its link. */
  sharedProperties: (project_id: number, id: number) => Promise<string[]>;
}

/** PostHog's fields of a tile whose value is always the same here. */
const fixedTile = { refreshing: false, refresh_attempt: null, filters_overrides: {} };

export async function showDashboard(
  { sql, insights }: Pick<DashboardParts, "sql" | "insights">,
  project_id: number,
  id: number,
  caller?: QueryCaller,
) {
  const dashboard = present(await getDashboard(sql, project_id, id, true));
  const tiles = await listTiles(sql, id);
  const ids = tiles.flatMap(({ insight_id }) => insight_id ?? []);
  const found = await insights(project_id, ids, caller);
  const visible = tiles.flatMap(({ insight_id, ...tile }) => {
    const insight = found.get(insight_id ?? 0) ?? null;
    const { last_refresh = null, is_cached = false } = insight ?? {};
    return insight || tile.text ? [{ ...tile, ...fixedTile, insight, last_refresh, is_cached }] : [];
  });
  return { ...dashboard, tiles: visible.map((tile, order) => ({ ...tile, order })) };
}

// Changes of persons over HTTP. PostHog counts the pages of this list from 1.

import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { toIso } from "../../http/fields/field_time.ts";
import { reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { numberedPage, numberedPageParameters, numberedReply, type Page } from "../../http/pages/page.ts";
import { toReads } from "../../storage/clickhouse/query_options.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { activityPageModel, type PersonActivity } from "../model.ts";
import { type CountedParts, nobody } from "../parts.ts";
import { findMainId } from "../reading/main_id_store.ts";
import { type ActivityRow, listActivity, type PersonChange } from "./store.ts";

const pageQuery = numberedPageParameters("Activities");

const replies = { 200: reply("The activities, newest first.", activityPageModel) };

export function activityOperations({ sql, clickhouse }: CountedParts) {
  return [
    projectOperation("GET /persons/activity/", "person:read", {
      summary: "List changes of persons through the API",
      description: "Who changed, split or deleted them, and when; neither values nor distinct ids.",
      query: pageQuery,
      replies,
      answer: ({ project, query, url }) => activityPage(sql, url, numberedPage(query), project.id),
    }),
    projectOperation("GET /persons/:uuid/activity/", "person:read", {
      summary: "List changes of a person through the API",
      description: "Also for a deleted person.",
      query: pageQuery,
      replies,
      find: async ({ project, params }) => {
        const uuid = parseUuid(params.uuid, nobody);
        const { count } = await listActivity(sql, project.id, uuid, { limit: 1, offset: 0 });
        if (count === 0) present(await findMainId(toReads(clickhouse, project.id), uuid), nobody);
        return uuid;
      },
      answer: ({ project, found: uuid, query, url }) =>
        activityPage(sql, url, numberedPage(query), project.id, uuid),
    }),
  ];
}

async function activityPage(sql: Postgres, url: URL, at: Page, project_id: number, uuid?: string) {
  const { count, rows } = await listActivity(sql, project_id, uuid, at);
  return numberedReply(url, at, { count, rows: rows.map(shownActivity) });
}

const changesOf: Record<PersonChange, { action: string; field: string | null }[]> = {
  updated: [{ action: "changed", field: "properties" }],
  delete_property: [{ action: "changed", field: null }],
  split_person: [{ action: "split", field: null }],
};

function shownActivity(row: ActivityRow): PersonActivity {
  const { id, person_id, activity, created_at, is_erased, user } = row;
  const erasure = { action: is_erased ? "erased" : "erasing", field: null };
  const changes = is_erased === null ? changesOf[activity as PersonChange] : [erasure];
  const detail = { name: person_id, changes: changes.map((change) => ({ type: "Person", ...change })) };
  return { id, user, activity, scope: "Person", item_id: person_id, detail, created_at: toIso(created_at) };
}

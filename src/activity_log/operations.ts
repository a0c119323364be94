// The log of changes over HTTP, for administrators and owners.

import type { Clock } from "../core/clock.ts";
import { parseInsightName, parseRowId, present } from "../http/fields/field_fault.ts";
import { namesParameter } from "../http/fields/list_parameters.ts";
import {
  flagParameter,
  momentParameter,
  type QueryValues,
  textParameter,
  uuidParameter,
} from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation, type RoomParts, toOperations } from "../http/operation.ts";
import { numberedPage, numberedPageParameters, numberedReply } from "../http/pages/page.ts";
import { activityLogModel } from "./model.ts";
import { findNames, listActivities } from "./store.ts";

const makeQuery = (clock: Clock) => ({
  user: uuidParameter("Only changes by this user: their UUID."),
  scope: textParameter("Only changes of this kind of thing, e.g. `Insight`."),
  scopes: namesParameter("Only changes of these kinds of things.", 30, { maxLength: 64 }),
  item_id: textParameter("Only changes of the thing with this id."),
  item_ids: namesParameter("Only changes of the things with these ids.", 100, { maxLength: 200 }),
  activity: textParameter("Only this activity, e.g. `deleted`."),
  start_date: momentParameter("Only changes since then.", clock),
  end_date: momentParameter("Only changes until then.", clock, { side: "end", moments: "end" }),
  include_organization_scoped: flagParameter("No effect: the organization has a log of its own."),
  ...numberedPageParameters("Changes"),
});

const record = {
  summary: "List changes made through the API, newest first",
  description:
    "For administrators and owners. Who changed what and when, with the names of fields; neither values nor keys. " +
    "Refused requests are not listed.",
  replies: { 200: reply("The changes.", activityLogModel) },
};

/** A project's log has its own changes; the organization's also those of keys, members and other projects. */
export function activityLogRoutes({ gate, sql, clock }: RoomParts<"gate" | "sql" | "clock">) {
  const query = makeQuery(clock);
  const { scope: _, scopes: __, item_id: ___, item_ids: ____, ...ofThings } = query;
  return mounted(gate, "Activity log", [
    projectOperation("GET /activity_log/", "activity_log:read", {
      ...record,
      query,
      answer: ({ project, query: parameters, url }) =>
        page(parameters, url, { organization_id: project.organization_id, project_id: project.id }),
    }),
    toOperations("organization")("GET /activity_log/", "activity_log:read", {
      ...record,
      query,
      answer: ({ organization, query: parameters, url }) =>
        page(parameters, url, { organization_id: organization.id }),
    }),
    projectOperation("GET /activity/", "activity_log:read", {
      ...record,
      summary: "List changes of the project itself, newest first",
      query: ofThings,
      answer: ({ project, query: parameters, url }) =>
        page({ ...parameters, scope: "Project" }, url, {
          organization_id: project.organization_id,
          project_id: project.id,
        }),
    }),
    ...thingOperations("insights", "Insight"),
    ...thingOperations("dashboards", "Dashboard"),
  ]);

  function thingOperations<const Things extends "insights" | "dashboards">(things: Things, scope: string) {
    const shownPage = { description: record.description, query: ofThings, replies: record.replies };
    return [
      projectOperation(`GET /${things}/activity/`, "activity_log:read", {
        ...shownPage,
        summary: `List changes of ${things}, newest first`,
        answer: ({ project, query: filter, url }) =>
          page({ ...filter, scope }, url, {
            organization_id: project.organization_id,
            project_id: project.id,
          }),
      }),
      projectOperation(`GET /${things}/:id/activity/`, "activity_log:read", {
        ...shownPage,
        summary: `List changes of one of the ${things}, newest first`,
        find: async ({ project, params }) => {
          const { id } = params as { id: string };
          const name = things === "insights" ? parseInsightName(id) : parseRowId(id);
          return present(await findNames(sql, project.id, things, String(name)));
        },
        answer: ({ project, found: names, query: filter, url }) =>
          page({ ...filter, scope }, url, {
            organization_id: project.organization_id,
            project_id: project.id,
            names,
          }),
      }),
    ] as const;
  }

  async function page(
    parameters: Partial<QueryValues<ReturnType<typeof makeQuery>>> & Parameters<typeof numberedPage>[0],
    url: URL,
    of: { organization_id: string; project_id?: number; names?: readonly string[] },
  ) {
    const at = numberedPage(parameters);
    const { scope = [], scopes: several = [], item_ids: names } = parameters;
    const filter = { names, ...parameters, ...of, scopes: [several, scope].flat() };
    return numberedReply(url, at, await listActivities(sql, filter, { page: at, now: clock.now() }));
  }
}

// Resources of PostHog's that do not exist here. Their lists are empty, so that programs that read every list of a
// project can finish; every other request is refused.

import Type from "typebox";
import type { Scope } from "../access/scope.ts";
import { Fault } from "../core/fault.ts";
import { wordsIn } from "../core/words.ts";
import { listSchema } from "../http/fields/schema.ts";

/**
 * @param called their name in a refusal. @param filters PostHog's filters of the list, which an empty list satisfies.
 */
const absent = (called: string, scope: Scope, filters: string) => ({
  called,
  scope,
  filters: wordsIn(filters),
});

/** Keyed by the segment of their path. PostHog documents `order` for some; Estuary's extractor sends it with each. */
export const absentResources: Readonly<Record<string, ReturnType<typeof absent>>> = {
  actions: absent("Actions", "action:read", "search tags"),
  cohorts: absent("Cohorts", "cohort:read", "search type created_by_id hide_behavioral_cohorts order"),
  early_access_feature: absent("Early access features", "early_access_feature:read", "search"),
  experiments: absent(
    "Experiments",
    "experiment:read",
    "search status archived created_by_id feature_flag_id order",
  ),
  feature_flags: absent(
    "Feature flags",
    "feature_flag:read",
    "search active created_by_id evaluation_runtime excluded_properties has_evaluation_tags order tags type",
  ),
  surveys: absent("Surveys", "survey:read", "search archived type status"),
};

const anyRow = Type.Record(Type.String(), Type.Unknown());

export const emptyListModel = Type.Object(listSchema(anyRow).properties, { title: "EmptyList" });

/** Other resources that PostHog's clients request by default, by the beginning of the refusal. */
const absentFamilies = byName({
  "Queries over the activity log do": "advanced_activity_logs",
  "Metrics of apps do": "app_metrics",
  "Requests for approval do": "change_requests",
  "Templates of dashboards do": "dashboard_templates",
  "Color themes do": "data_color_themes",
  "A data warehouse does": "data_warehouse",
  "Datasets do": "dataset_items",
  "Figures of elements do": "elements",
  "Endpoints of saved queries do": "endpoints",
  "Error tracking does": "error_tracking",
  "Experiments do": "experiment_holdouts experiment_saved_metrics",
  "Exports of images do": "exports",
  "External data sources do": "external_data_schemas",
  "A tree of files does": "file_system file_system_shortcut persisted_folder",
  "Workflows do": "hog_flows",
  "Hog functions do": "hog_function_templates",
  "Variables of insights do": "insight_variables",
  "LLM analytics does": "llm_analytics",
  "Prompts do": "llm_prompts",
  "Logs of applications do": "logs",
  "An assistant does": "max_tools",
  "Tools of PostHog's MCP server do": "mcp_tools",
  "Plugins do": "plugin_configs",
  "Revenue analytics does": "revenue_analytics",
  "Groups of properties do": "schema_property_groups",
  "Summaries of sessions do": "session_group_summaries session_summaries",
  "Playlists of recordings do": "session_recording_playlists",
  "A list of tags does": "tags",
  "Tasks do": "task_runs",
  "Interviews of users do": "user_interviews",
  "Warehouse views do": "warehouse_saved_queries warehouse_view_link warehouse_view_links",
  "Digests of web analytics do": "web_analytics",
  "A page of web vitals does": "web_vitals",
  "": `
    access_controls comments conversations datasets evaluations external_data_sources heatmaps
    hog_functions integrations notebooks quick_filters tasks uploaded_media warehouse_tables web_experiments
    workflows
  `,
});

const absentOfOrganizations = byName({
  "Verified domains do": "domains",
  "Invitations do": "invites",
  "Reverse proxies do": "proxy_records",
  "": "integrations plugins roles",
});

/** Beginnings of refusals by the segment of a path. Without one the name is it: "Hog functions do". */
function byName(groups: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const toBeginning = (name: string) => `${name[0]!.toUpperCase()}${name.slice(1).replaceAll("_", " ")} do`;
  return new Map(
    Object.entries(groups).flatMap(([text, names]) =>
      wordsIn(names).map((name) => [name, text || toBeginning(name)] as const),
    ),
  );
}

/** The refusal of a request for something that does not exist here; undefined for other paths. */
export function absentFault(path: string): Fault | undefined {
  const [, api, home, project, name = ""] = path.split("/");
  const isProject = home === "projects" || home === "environments";
  const families = isProject ? absentFamilies : home === "organizations" ? absentOfOrganizations : undefined;
  if (api !== "api" || project === "" || !families) return undefined;
  const family = families.get(name);
  if (family !== undefined) return new Fault("not_found", `${family} not exist on this server.`);
  if (!isProject) return undefined;
  const absent = Object.hasOwn(absentResources, name) ? absentResources[name] : undefined;
  if (!absent) return undefined;
  const detail = `${absent.called} do not exist on this server: their list is empty, and there is nothing else.`;
  return new Fault("not_found", detail);
}

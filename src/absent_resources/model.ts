// Resources of PostHog's that do not exist here. Their lists are empty, so that programs that read every list of a
// project can finish; every other request is refused.

import Type from "typebox";
import type { Scope } from "../access/scope.ts";
import { Fault } from "../core/fault.ts";
import { wordsIn } from "../core/words.ts";
import { listSchema } from "../http/fields/schema.ts";

interface AbsentResource {
  /** Their name in a refusal. */
  called: string;
  scope: Scope;
  /** PostHog's filters of the list, which an empty list satisfies. */
  filters: readonly string[];
}

const absent = (called: string, scope: Scope, filters: string): AbsentResource => ({
  called,
  scope,
  filters: wordsIn(filters),
});

/** By the segment of their path. PostHog documents `order` for some; Estuary's extractor sends it with each. */
export const absentResources: Readonly<Record<string, AbsentResource>> = {
  actions: absent("Actions", "action:read", "search tags"),
  annotations: absent(
    "Annotations",
    "annotation:read",
    "search scope date_from date_to is_emoji dashboard_item apply_all order",
  ),
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
    `
      search active created_by_id evaluation_runtime excluded_properties has_evaluation_tags order tags type
    `,
  ),
  surveys: absent("Surveys", "survey:read", "search archived type status"),
};

const anyRow = Type.Record(Type.String(), Type.Unknown());

export const emptyListModel = Type.Object(listSchema(anyRow).properties, { title: "EmptyList" });

/** Other resources that PostHog's clients request by default, by the beginning of the refusal. */
const absentFamilies: Readonly<Record<string, string>> = {
  access_controls: "Access controls do",
  advanced_activity_logs: "Queries over the activity log do",
  alerts: "Alerts do",
  app_metrics: "Metrics of apps do",
  change_requests: "Requests for approval do",
  comments: "Comments do",
  conversations: "Conversations do",
  dashboard_templates: "Templates of dashboards do",
  data_color_themes: "Color themes do",
  data_warehouse: "A data warehouse does",
  dataset_items: "Datasets do",
  datasets: "Datasets do",
  elements: "Figures of elements do",
  endpoints: "Endpoints of saved queries do",
  error_tracking: "Error tracking does",
  evaluations: "Evaluations do",
  experiment_holdouts: "Experiments do",
  experiment_saved_metrics: "Experiments do",
  exports: "Exports of images do",
  external_data_schemas: "External data sources do",
  external_data_sources: "External data sources do",
  file_system: "A tree of files does",
  file_system_shortcut: "A tree of files does",
  heatmaps: "Heatmaps do",
  hog_flows: "Workflows do",
  hog_function_templates: "Hog functions do",
  hog_functions: "Hog functions do",
  insight_variables: "Variables of insights do",
  integrations: "Integrations do",
  llm_analytics: "LLM analytics does",
  llm_prompts: "Prompts do",
  logs: "Logs of applications do",
  max_tools: "An assistant does",
  mcp_tools: "Tools of PostHog's MCP server do",
  notebooks: "Notebooks do",
  persisted_folder: "A tree of files does",
  plugin_configs: "Plugins do",
  quick_filters: "Quick filters do",
  revenue_analytics: "Revenue analytics does",
  schema_property_groups: "Groups of properties do",
  session_group_summaries: "Summaries of sessions do",
  session_recording_playlists: "Playlists of recordings do",
  session_summaries: "Summaries of sessions do",
  tags: "A list of tags does",
  task_runs: "Tasks do",
  tasks: "Tasks do",
  uploaded_media: "Uploaded media do",
  user_interviews: "Interviews of users do",
  warehouse_saved_queries: "Warehouse views do",
  warehouse_tables: "Warehouse tables do",
  warehouse_view_link: "Warehouse views do",
  warehouse_view_links: "Warehouse views do",
  web_analytics: "Digests of web analytics do",
  web_experiments: "Web experiments do",
  web_vitals: "A page of web vitals does",
  workflows: "Workflows do",
};

/** Absent resources of an organization. */
const absentOfOrganizations: Readonly<Record<string, string>> = {
  domains: "Verified domains do",
  integrations: "Integrations do",
  invites: "Invitations do",
  plugins: "Plugins do",
  proxy_records: "Reverse proxies do",
  roles: "Roles do",
};

/** The refusal of a request for something that does not exist here; undefined for other paths. */
export function absentFault(path: string): Fault | undefined {
  const [, api, home, project, name = ""] = path.split("/");
  const isProject = home === "projects" || home === "environments";
  const families = isProject ? absentFamilies : home === "organizations" ? absentOfOrganizations : undefined;
  if (api !== "api" || project === "" || !families) return undefined;
  if (Object.hasOwn(families, name)) {
    return new Fault("not_found", `${families[name]} not exist on this server.`);
  }
  if (!isProject) return undefined;
  const absent = Object.hasOwn(absentResources, name) ? absentResources[name] : undefined;
  if (!absent) return undefined;
  const detail = `${absent.called} do not exist on this server: their list is empty, and there is nothing else.`;
  return new Fault("not_found", detail);
}

// What an agent does with the tools of PostHog's agent toolkit; arguments are checked by the tools' own schemas. Prints
// for each tool what it gave: `text`, or `error`.

import { getToolsFromContext, PostHogAgentToolkit } from "@posthog/agent-toolkit";

const [posthogApiBaseUrl, posthogApiToken] = process.argv.slice(2);
const context = new PostHogAgentToolkit({ posthogApiToken, posthogApiBaseUrl }).getContext();
const tools = await getToolsFromContext(context);
const gave = {};

/** The answer of a tool, as an agent that reads JSON has it; empty where it failed. */
async function call(name, args = {}) {
  const { handler, schema } = tools.find((tool) => tool.name === name);
  try {
    const { content } = await handler(context, schema.parse(args));
    const { text } = content[0];
    gave[name] = { text };
    return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : {};
  } catch (thrown) {
    gave[name] = { error: thrown.message };
    return {};
  }
}

await call("organizations-get");
await call("organization-details-get");
await call("projects-get");
await call("switch-project", { projectId: 1 });
await call("event-definitions-list");
await call("properties-list", { type: "event", eventName: "bought" });

const source = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "bought", custom_name: "Bought" }],
  dateRange: { date_from: "-7d" },
};
const query = { kind: "InsightVizNode", source };
await call("query-run", { query });
const { short_id: insightId } = await call("insight-create-from-query", {
  data: { name: "Sales", description: "by day", favorited: false, query },
});
await call("insights-get-all", { data: { limit: 10 } });
await call("insight-get", { insightId });
await call("insight-query", { insightId });
await call("insight-update", { insightId, data: { name: "Sales by day", query } });

const { id: dashboardId } = await call("dashboard-create", {
  data: { name: "Shop", description: "all of it", pinned: false },
});
await call("dashboards-get-all", { data: {} });
await call("dashboard-update", { dashboardId, data: { name: "The shop" } });
await call("add-insight-to-dashboard", { data: { insightId, dashboardId } });
await call("dashboard-get", { dashboardId });
await call("insight-delete", { insightId });
await call("dashboard-delete", { dashboardId });

await call("feature-flag-get-all");
await call("experiment-get-all");
await call("surveys-get-all");
await call("get-llm-total-costs-for-project", { projectId: 1 });

await call("list-errors");
await call("surveys-global-stats");
await call("create-feature-flag", {
  name: "New",
  key: "new",
  description: "",
  active: true,
  filters: { groups: [{ properties: [], rollout_percentage: 50 }] },
});
console.log(JSON.stringify({ names: tools.map(({ name }) => name), gave }));

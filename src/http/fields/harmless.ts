// Parameters and fields that PostHog's clients send and that change nothing here, each with the reason.

/**
 * Parameters of any operation; every other one is declared by its operation or refused.
 * `reason`: why it changes no answer. `only`: the only value that is harmless; any by default.
 */
export const harmlessParameters: ReadonlyMap<string, { reason: string; only?: string }> = new Map(
  Object.entries<{ reason: string; only?: string }>({
    _: { reason: "Makes an address new to caches; no answer is cached here." },
    basic: { reason: "Leaves results out of a list of insights, which never has them here." },
    client_query_id: { reason: "Names a query in PostHog's own log; a query's id is in its body." },
    format: { reason: "Answers are JSON; an operation that offers CSV declares it.", only: "json" },
    no_items_field: { reason: "Leaves out a field of dashboards that no reply has." },
    personal_api_key: { reason: "The key itself, which was checked before." },
    refresh: { reason: "How old a result may be; results are computed when they are requested." },
  }),
);

/**
 * PostHog's fields of bodies that its clients send and that change nothing here, by the reason for it, then by model.
 * Every other field is in our replies, has an effect, or is refused by name.
 */
export const harmlessFields: Record<string, Record<string, readonly string[]>> = {
  "PostHog shows it and nobody can set it: it may be sent back as it was read.": {
    Annotation: ["organization_id", "team", "team_id"],
    Dashboard: ["last_viewed_at"],
    DashboardTile: ["dashboard_id", "error"],
    DashboardText: ["dashboard_tiles"],
    Subscription: ["insight_short_id", "resource_name"],
  },
  "About drawing; no effect on results.": {
    Dashboard: ["breakdown_colors", "data_color_theme_id"],
    DashboardTile: ["transparent_background"],
    TileLayouts: ["lg", "md", "xl", "xxs"],
    TileLayout: ["i", "maxH", "maxW", "moved", "static"],
  },
  "The folder of PostHog's console in which a new thing is filed.": {
    Insight: ["_create_in_folder"],
    Dashboard: ["_create_in_folder"],
  },
};

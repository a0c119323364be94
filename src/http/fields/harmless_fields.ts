// PostHog's fields of bodies that its clients send and that change nothing here. Every other field is in our replies,
// has an effect, or is refused by name.

import { wordsIn } from "../../core/words.ts";

/** By the reason for which they change nothing, then by model. */
const harmlessByReason: Record<string, Record<string, readonly string[]>> = {
  "PostHog shows it and nobody can set it: it may be sent back as it was read.": {
    Insight: wordsIn(`
      alerts cache_target_age effective_privilege_level effective_restriction_level hogql is_sample last_viewed_at
      next_allowed_client_refresh resolved_date_range user_access_level
    `),
    Dashboard: wordsIn(`
      access_control_version creation_mode effective_privilege_level effective_restriction_level is_shared
      last_accessed_at last_refresh last_viewed_at persisted_filters persisted_variables team_id user_access_level
    `),
    DashboardTile: ["dashboard_id", "error", "refresh_attempt", "refreshing"],
    DashboardText: ["dashboard_tiles", "team"],
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

/** @param title of the model that a reply shows. */
export function harmlessFieldsOf(title: string): string[] {
  return Object.values(harmlessByReason).flatMap((names) => names[title] ?? []);
}

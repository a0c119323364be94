// The scopes of readers, whatever their keys have. The console's pages, too, show no more.

/**
 * All that a reader reads: no persons or recordings, no links, whose tokens are keys, and no targets of exports,
 * subscriptions and alerts.
 */
export const readerScopes = [
  "action:read",
  "annotation:read",
  "cohort:read",
  "dashboard:read",
  "early_access_feature:read",
  "event_definition:read",
  "experiment:read",
  "feature_flag:read",
  "group:read",
  "insight:read",
  "organization:read",
  "organization_member:read",
  "project:read",
  "property_definition:read",
  "query:read",
  "survey:read",
  "user:read",
] as const;

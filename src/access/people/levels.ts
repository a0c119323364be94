// Levels of members, and the lowest level that each operation requires: this is their only list. The gate refuses lower
// ones.

import { Fault } from "../../core/fault.ts";

export const membershipLevels = { member: 1, admin: 8, owner: 15 } as const;

export type Level = (typeof membershipLevels)[keyof typeof membershipLevels];

const { member, admin, owner } = membershipLevels;

/**
 * Operations that require more than a member, by method and path. A PUT requires the level of its PATCH, and a project
 * has the same levels under its other paths.
 */
const leastLevels: Readonly<Record<string, Level>> = {
  "PATCH /api/organizations/:organization_id/": admin,
  "DELETE /api/organizations/:organization_id/": owner,
  "PATCH /api/organizations/:organization_id/members/:user__uuid/": admin,
  "GET /api/organizations/:organization_id/invites/": admin,
  "POST /api/organizations/:organization_id/invites/": admin,
  "POST /api/organizations/:organization_id/invites/bulk/": admin,
  "DELETE /api/organizations/:organization_id/invites/:id/": admin,
  "GET /api/organizations/:organization_id/members/:user__uuid/scoped_api_keys/": admin,
  "GET /api/organizations/:organization_id/activity_log/": admin,
  "POST /api/organizations/:organization_id/projects/": admin,
  "POST /api/projects/": admin,
  "DELETE /api/projects/:project_id/": admin,
  "PATCH /api/projects/:project_id/reset_token/": admin,
  "GET /api/projects/:project_id/activity_log/": admin,
  "GET /api/projects/:project_id/activity/": admin,
  "GET /api/projects/:project_id/insights/activity/": admin,
  "GET /api/projects/:project_id/insights/:id/activity/": admin,
  "GET /api/projects/:project_id/dashboards/activity/": admin,
  "GET /api/projects/:project_id/dashboards/:id/activity/": admin,
};

/** @param path as it is routed, e.g. `/api/environments/:project_id/`. */
export function leastLevel(method: string, path: string): Level {
  const changing = method === "PUT" ? "PATCH" : method;
  const name = path
    .replace("/api/environments", "/api/projects")
    .replace("/api/organizations/:organization_id/projects/:project_id", "/api/projects/:project_id");
  return leastLevels[`${changing} ${name}`] ?? member;
}

/** @throws Fault permission_denied when the member's level is below `least`. */
export function requireLevel(level: number, least: Level, detail: string = insufficient.organization): void {
  if (level < least) throw new Fault("permission_denied", detail);
}

export const insufficient = {
  organization: "Your organization access level is insufficient.",
  project: "You don't have sufficient permissions in the project.",
} as const;

// Levels of members, and the lowest level that each operation requires: this is their only list. The gate refuses lower
// levels, and narrows the scopes of readers.

import { Fault } from "../../core/fault.ts";
import { covers, type Scope } from "../scope.ts";
import { readerScopes } from "./reader_scopes.ts";

/** Numbers between and above these are nobody's. Each may do what lower ones may. */
export const membershipLevels = { reader: 0, member: 1, admin: 8, owner: 15 } as const;

/** The numbers in descriptions of the API. */
export const levelNames = "0 reader, 1 member, 8 admin, 15 owner";

export type Level = (typeof membershipLevels)[keyof typeof membershipLevels];

const { reader, member, admin, owner } = membershipLevels;

/** The part of a key's scopes that a reader has. */
export function narrowToReader(scopes: readonly string[]): Scope[] {
  return readerScopes.filter((scope) => covers(scopes, scope));
}

/**
 * The levels of operations, by method and path, that are not a reader's for a GET by readerScopes and a member's for
 * all else. A PUT requires the level of its PATCH, and a project has the same levels under its other paths.
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
  // These show events one by one, or texts of any property.
  "GET /api/projects/:project_id/events/": member,
  "GET /api/projects/:project_id/events/:uuid/": member,
  "GET /api/projects/:project_id/events/values/": member,
  "GET /api/projects/:project_id/sessions/values/": member,
  "GET /api/projects/:project_id/ingestion_warnings/": member,
  // The engine refuses readers what a link would not show.
  "POST /api/projects/:project_id/query/": reader,
  "DELETE /api/projects/:project_id/query/:id/": reader,
  // These change only what is the user's own.
  "POST /api/projects/:project_id/insights/viewed/": reader,
  "POST /api/projects/:project_id/insights/:id/viewed/": reader,
  "DELETE /api/organizations/:organization_id/members/:user__uuid/": reader,
  "GET /api/personal_api_keys/": reader,
  "POST /api/personal_api_keys/": reader,
  "GET /api/personal_api_keys/:id/": reader,
  "PATCH /api/personal_api_keys/:id/": reader,
  "DELETE /api/personal_api_keys/:id/": reader,
  "POST /api/personal_api_keys/:id/roll/": reader,
  "PATCH /api/users/:uuid/": reader,
  "GET /api/users/:uuid/sessions/": reader,
  "DELETE /api/users/:uuid/sessions/:id/": reader,
};

/** @param path as it is routed, e.g. `/api/environments/:project_id/`. @param required the scopes of the operation. */
export function leastLevel(method: string, path: string, required: readonly Scope[]): Level {
  const changing = method === "PUT" ? "PATCH" : method;
  const name = path
    .replace("/api/environments", "/api/projects")
    .replace("/api/organizations/:organization_id/projects/:project_id", "/api/projects/:project_id");
  const isRead = method === "GET" && required.every((scope) => covers(readerScopes, scope));
  return leastLevels[`${changing} ${name}`] ?? (isRead ? reader : member);
}

/** @throws Fault permission_denied when the member's level is below `least`. */
export function requireLevel(level: number, least: Level, detail: string = insufficient.organization): void {
  if (level < least) throw new Fault("permission_denied", detail);
}

export const insufficient = {
  organization: "Your organization access level is insufficient.",
  project: "You don't have sufficient permissions in the project.",
} as const;

// The projects and organizations that a key's holder may access, by number, id or as @current. Scopes are checked
// elsewhere.

import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import type { KeyHolder, ReachedOrganization, ReachedProject } from "./store.ts";

/** Who asks, on a route with `scope`. */
export type Access = KeyHolder;
/** A project the user is a member of, on a route with `project_scope`. */
export type AccessProject = ReachedProject & { membership_level: number };
/** An organization the user is a member of, on a route with `organization_scope`. */
export type AccessOrganization = ReachedOrganization & { membership_level: number };

/** The project that is asked for. `id`: as in the path; `project`: the project of that id, if any. */
export function admitProject(access: Access, id: string, project: ReachedProject | undefined): AccessProject {
  const { scoped_teams, scoped_organizations } = access.key;
  const number = projectNumber(id);
  if (scoped_teams.length > 0 && id !== "@current" && !scoped_teams.includes(number)) {
    if (Number.isNaN(number)) throw new Fault("not_found", "Project not found.");
    throw new Fault(
      "permission_denied",
      `API key does not have access to the requested project: ID ${number}.`,
    );
  }
  if (!project) throw new Fault("not_found", "Project not found.");
  refuseOrganization(scoped_organizations, project.organization_id);
  const { membership_level } = project;
  if (membership_level === null)
    throw new Fault("permission_denied", "You don't have access to the project.");
  return { ...project, membership_level };
}

/** The same for an organization. */
export function admitOrganization(
  access: Access,
  id: string,
  organization: ReachedOrganization | undefined,
): AccessOrganization {
  refuseHeldToProjects(access);
  const current = id === "@current";
  if (!current && isUuid(id)) refuseOrganization(access.key.scoped_organizations, id.toLowerCase());
  if (!organization) {
    throw new Fault("not_found", current ? "Current organization not found." : "Organization not found.");
  }
  const { membership_level } = organization;
  if (membership_level === null) {
    throw new Fault("permission_denied", "You do not have permission to perform this operation.");
  }
  return { ...organization, membership_level };
}

/** For routes that need access to whole organizations. */
export function refuseHeldToProjects({ key }: Access): void {
  if (key.scoped_teams.length === 0) return;
  const detail = "API keys with scoped projects are only supported on project-based endpoints.";
  throw new Fault("permission_denied", detail);
}

/** An organization that the key may access; any other is reported as not found. */
export function findOwn(
  access: Access,
  id: string,
  organization: ReachedOrganization | undefined,
): AccessOrganization {
  const { scoped_organizations } = access.key;
  const held = scoped_organizations.length > 0 && !scoped_organizations.includes(organization?.id ?? "");
  if (!organization || organization.membership_level === null || held) {
    throw new Fault("not_found", id === "@current" ? "Current organization not found." : "Not found.");
  }
  return { ...organization, membership_level: organization.membership_level };
}

function refuseOrganization(scoped_organizations: readonly string[], organization_id: string): void {
  if (scoped_organizations.length === 0 || scoped_organizations.includes(organization_id)) return;
  const detail = `API key does not have access to the requested organization: ID ${organization_id}.`;
  throw new Fault("permission_denied", detail);
}

/** NaN when it is not a number. */
export function projectNumber(id: string): number {
  return /^[1-9]\d{0,9}$/.test(id) ? Number(id) : Number.NaN;
}

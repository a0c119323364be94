// A personal key's rights: scopes and what each of them covers, and the projects and organizations it may access.

import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { wordsIn } from "../core/words.ts";
import type { KeyHolder, ReachedOrganization, ReachedProject } from "./store.ts";

const scopeObjects = wordsIn(`
  action activity_log alert annotation batch_export cohort dashboard early_access_feature event_definition experiment
  export feature_flag group insight organization organization_member person plugin project property_definition query
  session_recording session_recording_playlist sharing_configuration subscription survey user webhook
`);

type ScopeObject = (typeof scopeObjects)[number];
/** `*` covers everything; `x:write` covers `x:read`. */
export type Scope = "*" | `${ScopeObject}:${"read" | "write"}`;

export const scopes: readonly Scope[] = [
  "*",
  ...scopeObjects.flatMap((object): Scope[] => [`${object}:read`, `${object}:write`]),
];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}

/** Whether a key with `held` may do what needs `required`. A key without scopes may do nothing. */
export function covers(granted: readonly string[], required: Scope): boolean {
  if (granted.includes("*") || granted.includes(required)) return true;
  return required.endsWith(":read") && granted.includes(`${required.slice(0, -":read".length)}:write`);
}

/** @throws Fault permission_denied naming the first of `required` that the `held` scopes do not cover. */
export function requireScopes(granted: readonly string[], required: readonly Scope[]): void {
  const missing = required.find((scope) => !covers(granted, scope));
  if (missing !== undefined)
    throw new Fault("permission_denied", `API key missing required scope '${missing}'`);
}

/** The holder of the request's key, on a route with `scope`. */
export type Access = KeyHolder;
/** A project the user is a member of, on a route with `project_scope`. */
export type AccessProject = ReachedProject & { membership_level: number };
/** An organization the user is a member of, on a route with `organization_scope`. */
export type AccessOrganization = ReachedOrganization & { membership_level: number };

/** The requested project. `id`: as in the path; `project`: the project of that id, if any. */
export function admitProject(access: Access, id: string, project: ReachedProject | undefined): AccessProject {
  const { scoped_teams, scoped_organizations } = access.key;
  const number = projectNumber(id);
  if (scoped_teams.length > 0 && id !== "@current" && !scoped_teams.includes(number)) {
    if (Number.isNaN(number)) throw new Fault("not_found", "Project not found.");
    const detail = `API key does not have access to the requested project: ID ${number}.`;
    throw new Fault("permission_denied", detail);
  }
  if (!project) throw new Fault("not_found", "Project not found.");
  refuseOrganization(scoped_organizations, project.organization_id);
  const { membership_level } = project;
  if (membership_level === null)
    throw new Fault("permission_denied", "You don't have access to the project.");
  return { ...project, membership_level };
}

/** @throws Fault not_found for a project of another organization than the path names. */
export function requireIn(
  { organization_id }: AccessProject,
  id: string,
  current: ReachedOrganization | undefined,
): void {
  const named = id === "@current" ? current?.id : id.toLowerCase();
  if (named !== organization_id) throw new Fault("not_found", "Project not found.");
}

/** @throws Fault when the caller may not see the organization. */
export function admitOrganization(access: Access, id: string, organization: ReachedOrganization | undefined) {
  refuseRestrictedToProjects(access);
  const current = id === "@current";
  if (!current && isUuid(id)) refuseOrganization(access.key.scoped_organizations, id.toLowerCase());
  if (!organization)
    throw new Fault("not_found", current ? "Current organization not found." : "Organization not found.");
  const { membership_level } = organization;
  if (membership_level === null)
    throw new Fault("permission_denied", "You do not have permission to perform this operation.");
  return { ...organization, membership_level };
}

/** @throws Fault permission_denied for a key that is restricted to projects. */
export function refuseRestrictedToProjects({ key }: Access): void {
  if (key.scoped_teams.length === 0) return;
  const detail = "API keys with scoped projects are only supported on project-based endpoints.";
  throw new Fault("permission_denied", detail);
}

/** An organization that the key may access; any other is reported as not found. */
export function findOwn(access: Access, id: string, organization: ReachedOrganization | undefined) {
  const { scoped_organizations: scoped } = access.key;
  const isExcluded = scoped.length > 0 && !scoped.includes(organization?.id ?? "");
  if (!organization || organization.membership_level === null || isExcluded)
    throw new Fault("not_found", id === "@current" ? "Current organization not found." : "Not found.");
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

// Changes through the API are recorded: who changed what, and when, but no value. See access/activity_store.ts.

import { beginChange, type BegunChange, dropChange, endChange } from "../access/activity_store.ts";
import type { Access, AccessOrganization, AccessProject } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { toReason } from "../core/log.ts";
import type { Uses } from "../storage/services.ts";
import { readRequestId } from "./peer.ts";
import { problems } from "./problem.ts";

/** PostHog's scopes that are not the singular of the path's segment. */
const scopesOf: Readonly<Record<string, string>> = {
  groups_types: "GroupType",
  members: "OrganizationMembership",
  invites: "OrganizationInvite",
  personal_api_keys: "PersonalAPIKey",
  session_recordings: "Replay",
};

/** The scope of the thing itself, where no segment of the path has one of its own. */
const homeScopes: Readonly<Record<string, string>> = {
  project: "Project",
  project_of_organization: "Project",
  projects: "Project",
  projects_of_organization: "Project",
  organization: "Organization",
  organizations: "Organization",
  keys: "PersonalAPIKey",
  users: "User",
};

/** The activity and its scope, in PostHog's words. `home`: what the path is mounted under; see operation.ts. */
export function nameActivity({ home, method, path }: Record<"home" | "method" | "path", string>) {
  const [first, ...rest] = words(path);
  const isOwn = first === undefined || ownVerbs.has(first);
  const scope = isOwn ? homeScopes[home]! : (scopesOf[first] ?? singular(first));
  const verb = isOwn ? first : rest.at(-1);
  if (method === "DELETE") return { activity: "deleted", scope };
  if (verb !== undefined) return { activity: verb, scope };
  return { activity: method === "POST" ? "created" : "updated", scope };
}

/** Words of paths that change the thing of the home itself. */
const ownVerbs: ReadonlySet<string> = new Set(["reset_token", "roll"]);

/** `batch_exports` → `BatchExport`. */
function singular(segment: string): string {
  const words = segment.replace(/s$/, "").split("_");
  return words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join("");
}

export interface RecordedChange extends Record<"home" | "method" | "path", string> {
  request: Request;
  access: Access;
  project: AccessProject | undefined;
  organization: AccessOrganization | undefined;
  /** The organization in the path, where the operation is about it. */
  own: (() => AccessOrganization) | undefined;
  params: Readonly<Record<string, string>>;
  body: object | undefined;
}

/**
 * The answer of a change, recorded. A refused change leaves no row, one with an unknown outcome does.
 * @throws what `answer` throws; and an error of Postgres, before the change, when it cannot be recorded.
 */
export async function recorded<Answered>(
  services: Uses<"sql" | "clock" | "log">,
  change: RecordedChange,
  status: number,
  answer: () => Promise<Answered> | Answered,
): Promise<Answered> {
  const { sql, clock, log } = services;
  const id = await beginChange(sql, toBegunChange(change, new Date(clock.now())));
  let answered: Answered;
  try {
    answered = await answer();
  } catch (thrown) {
    const isRefused = thrown instanceof Fault && problems[thrown.code].status < 500;
    if (isRefused) await dropChange(sql, id).catch(() => {});
    throw thrown;
  }
  const { id: made } = Object(answered) as { id?: unknown };
  const created_id = typeof made === "string" || typeof made === "number" ? String(made) : undefined;
  const organization = change.home === "organizations" ? created_id : undefined;
  await endChange(sql, id, status, created_id, organization).catch((thrown: unknown) => {
    const about = { request_id: readRequestId(change.request), reason: toReason(thrown) };
    log.warn("the end of a change was not recorded", about);
  });
  return answered;
}

/** @throws Fault not_found for an organization that the key does not reach. */
function toBegunChange(change: RecordedChange, at: Date): BegunChange {
  const { home, path, access, project, organization, own, params, body, request } = change;
  const { project_id: _, organization_id, ...rest } = params;
  const named = organization ?? (organization_id === undefined || project ? undefined : own?.());
  const isMade = home === "organizations" && named === undefined;
  const [item] = Object.values(rest);
  const itself = project ? String(project.id) : named?.id;
  return {
    ...nameActivity(change),
    organization_id:
      project?.organization_id ??
      named?.id ??
      (isMade ? undefined : access.user.current_organization_id) ??
      undefined,
    project_id: project?.id,
    user_id: access.user.id,
    key_id: access.key.id,
    request_id: readRequestId(request),
    item_id: item ?? (words(path).length === 0 ? itself : undefined),
    fields: change.method === "PATCH" ? Object.keys(body ?? {}) : [],
    at,
  };
}

function words(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "" && !segment.startsWith(":"));
}

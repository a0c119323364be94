// Projects over HTTP.

import type { Access, AccessOrganization, AccessProject, Gate } from "../access/gate.ts";
import { insufficient, membershipLevels, requireLevel } from "../access/people/levels.ts";
import { refuseRestrictedToProjects } from "../access/scope.ts";
import { currentOrganization } from "../access/store.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { notFound, present } from "../http/fields/field_fault.ts";
import { pageParameters } from "../http/fields/query.ts";
import { gone, listSchema, reply } from "../http/fields/schema.ts";
import { mounted, toOperations } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { ClickHouse } from "../storage/clickhouse/clickhouse.ts";
import { whyNoPattern } from "../storage/clickhouse/trial.ts";
import { checkPropertyFilters, filtersOfQueries, patternsIn } from "../storage/events/property_filter.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import type { Uses } from "../storage/services.ts";
import { projectLimits } from "./limits.ts";
import { demoModel, type Project, projectBody, projectModel, type ProjectUpdate } from "./model.ts";
import { checkSettings } from "./settings/model.ts";
import * as store from "./store.ts";

interface ProjectParts extends Uses<"sql" | "clickhouse"> {
  /** Days after which all events expire; a project may set fewer. Undefined: events are kept. */
  eventRetentionDays?: number | undefined;
}

const missing = "Project not found.";
const shownOne = { 200: reply("The project.", projectModel) };
const operation = toOperations("projects", "projects_of_organization");
const oneOperation = toOperations("project", "project_of_organization");

export function projectRoutes({ gate, ...parts }: ProjectParts & { gate: Gate }) {
  return mounted(gate, "Projects", [...listOperations(parts), ...oneOperations(parts)]);
}

function listOperations(parts: ProjectParts) {
  const { sql } = parts;
  return [
    operation("GET /", "project:read", {
      summary: "List projects",
      query: pageParameters("Rows"),
      replies: { 200: reply("The projects.", listSchema(projectModel)) },
      answer: async ({ access, organization, query, url }) => {
        const key = organization ? { ...access.key, scoped_organizations: [organization.id] } : access.key;
        return pageReply(url, query, await store.listProjects(sql, { ...access, key }, query));
      },
    }),
    operation("POST /", "project:write", {
      summary: "Create a project",
      description:
        "In the organization of the path, else in the user's current one; it becomes the user's current project.",
      find: ({ access, organization }) => findHome(sql, access, organization),
      body: projectBody,
      replies: { 201: reply("The project.", projectModel) },
      answer: async ({ access, found: organization, body }) => {
        checkSettings(body);
        refuseStatefulMode(body);
        refuseLongerRetention(parts, body);
        await checkTestAccountFilters(parts.clickhouse, body.test_account_filters);
        const founding = { ...body, organization_id: organization.id, maker_id: access.user.id };
        return showTo(organization, await store.createProject(sql, founding));
      },
    }),
  ];
}

function oneOperations(parts: ProjectParts) {
  const { sql } = parts;
  return [
    oneOperation("GET /", "project:read", {
      summary: "Get a project",
      replies: shownOne,
      answer: async ({ project }) => showTo(project, await store.getProject(sql, project.id)),
    }),
    oneOperation("PATCH /", "project:write", {
      summary: "Change a project",
      put: "Change a project, as PATCH does",
      body: projectBody,
      replies: shownOne,
      answer: async ({ project, body }) => showTo(project, await changeProject(parts, project, body)),
    }),
    oneOperation("DELETE /", "project:write", {
      summary: "Delete a project and all its data",
      replies: gone,
      answer: async ({ project }) => {
        if (!(await store.removeProject(sql, project.id))) throw notFound(missing);
      },
    }),
    oneOperation("GET /is_generating_demo_data/", "project:read", {
      summary: "Say whether PostHog's demo data is being made: never",
      replies: { 200: reply("It is not.", demoModel) },
      answer: () => ({ is_generating_demo_data: false }),
    }),
    oneOperation("PATCH /reset_token/", "project:write", {
      summary: "Replace a project's API key",
      description: "The old one stops within 30 seconds.",
      replies: shownOne,
      answer: async ({ project }) => showTo(project, await store.resetProjectKey(sql, project.id)),
    }),
  ];
}

/** Settings by which events are deleted or ignored: whoever changes them may delete the project. */
const guarded = ["event_retention_days", "daily_event_quota"] as const;

async function changeProject(parts: ProjectParts, project: AccessProject, changes: ProjectUpdate) {
  checkSettings(changes);
  refuseStatefulMode(changes);
  const named = guarded.filter((name) => changes[name] !== undefined);
  const before = named.length > 0 ? await store.getProject(parts.sql, project.id) : undefined;
  // Setting the present value changes nothing.
  const changed = named.filter((name) => changes[name] !== before?.[name]);
  if (changed.length > 0)
    requireLevel(project.membership_level, membershipLevels.admin, insufficient.project);
  if (changed.includes("event_retention_days")) refuseLongerRetention(parts, changes);
  await checkTestAccountFilters(parts.clickhouse, changes.test_account_filters);
  return await store.updateProject(parts.sql, project.id, changes);
}

/** PostHog's third mode would store state about a visitor between two events. */
function refuseStatefulMode({ cookieless_server_hash_mode: mode }: ProjectUpdate): void {
  if (mode !== 2) return;
  const detail =
    "Mode 2 (stateful) does not exist here. Choose 1 (stateless), which gives each visitor an id of the day, or 0, " +
    "which ignores events without a cookie.";
  refuseInput(detail, "cookieless_server_hash_mode", "invalid_choice");
}

function refuseLongerRetention(
  { eventRetentionDays }: ProjectParts,
  { event_retention_days: days = null }: ProjectUpdate,
): void {
  if (days === null || eventRetentionDays === undefined || days <= eventRetentionDays) return;
  const detail = `Ensure this value is less than or equal to ${eventRetentionDays}, the server's own retention.`;
  refuseInput(detail, "event_retention_days", "max_value");
}

async function findHome(sql: Postgres, access: Access, named: AccessOrganization | undefined) {
  refuseRestrictedToProjects(access);
  const organization = named ?? (await currentOrganization(sql, access));
  if (!organization) throw new Fault("not_found", "Current organization not found.");
  return organization;
}

/** The project as a member of this level sees it. @throws Fault not_found. */
function showTo({ membership_level }: { membership_level: number | null }, project: Project | undefined) {
  return { ...present(project, missing), effective_membership_level: membership_level! };
}

const attr = "test_account_filters";

/** @throws Fault for a filter that does not compile: every query that excludes test accounts would fail. */
async function checkTestAccountFilters(clickhouse: ClickHouse, value: unknown): Promise<void> {
  if (value === undefined) return;
  const filters = checkPropertyFilters(value, attr, filtersOfQueries);
  const max = projectLimits.testAccountFiltersBytesMax;
  if (Buffer.byteLength(JSON.stringify(value)) > max)
    refuseInput(`Ensure these filters have no more than ${max} bytes as JSON.`, attr, "max_length");
  const reason = await whyNoPattern(clickhouse, patternsIn(filters));
  if (reason !== undefined) refuseInput(reason, attr);
}

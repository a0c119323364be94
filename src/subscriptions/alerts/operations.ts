// Alerts over HTTP. The worker of alerts checks them.

import type { Gate } from "../../access/gate.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { newUuid } from "../../core/id.ts";
import { fieldFault, missingReference } from "../../http/fields/field_fault.ts";
import { toIso, toIsoTime } from "../../http/fields/field_time.ts";
import { checkReference } from "../../http/fields/number_rule.ts";
import * as parameter from "../../http/fields/query.ts";
import { listSchema, reply } from "../../http/fields/schema.ts";
import { mounted, projectOperation } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import { toFields, unwrapQuery } from "../../query/result.ts";
import { containing } from "../../storage/postgres/rows.ts";
import { checkTarget, type SubscriptionParts } from "../operations.ts";
import { listChecks } from "./check_store.ts";
import { alertLimits } from "./limits.ts";
import * as model from "./model.ts";
import * as store from "./store.ts";

const shownOne = reply("The alert.", model.alertModel);

export function alertRoutes({ gate, ...parts }: SubscriptionParts & { gate: Gate }) {
  return mounted(gate, "Alerts", [...listOperations(parts), ...oneOperations(parts)]);
}

function listOperations(parts: SubscriptionParts) {
  const { sql, clock } = parts;
  return [
    projectOperation("GET /alerts/", "alert:read", {
      summary: "List alerts, newest first",
      query: {
        insight: parameter.referenceParameter("Only those of this insight."),
        insight_id: parameter.referenceParameter("The same."),
        search: parameter.searchParameter("Only those with this text in their name."),
        ...parameter.pageParameters("Alerts"),
      },
      replies: { 200: reply("The alerts.", listSchema(model.alertModel)) },
      answer: async ({ project, query, url }) => {
        const insight = query.insight ?? query.insight_id ?? null;
        const filter = { project_id: project.id, insight, search: containing(query.search) };
        return pageReply(url, query, await store.listAlerts(sql, filter, query));
      },
    }),
    projectOperation("POST /alerts/", "alert:write", {
      summary: "Create an alert",
      description:
        "Its figure is checked at once, then on its interval, with the rights of whoever made it. Each crossing of " +
        "its threshold is told once, and the return once; a figure that cannot be had, after " +
        `${alertLimits.failuresToldAt} checks.`,
      body: model.alertBody,
      replies: { 201: shownOne },
      answer: async ({ access, project, body }) => {
        const now = new Date(clock.now());
        const threshold = { name: "", ...body.threshold, id: newUuid(), created_at: toIso(now) };
        const fields = await readFields(parts, project.id, { condition: {}, ...body, threshold });
        const made = { project_id: project.id, created_by: access.user.id, created_at: now };
        const alert = await store.createAlert(sql, { ...fields, ...made });
        if (alert) return store.showAlert(alert);
        throw new Fault(
          "invalid_input",
          `A project can have at most ${alertLimits.alertsPerProjectMax} alerts.`,
        );
      },
    }),
  ];
}

function oneOperations(parts: SubscriptionParts) {
  const { sql, clock } = parts;
  return [
    projectOperation("GET /alerts/:id/", "alert:read", {
      summary: "Get an alert and its last checks",
      find: (request) => store.requireAlert(sql, request),
      replies: { 200: shownOne },
      answer: async ({ found }) => {
        const page = { limit: alertLimits.checksShownMax, offset: 0 };
        const { rows } = await listChecks(sql, found.id, page);
        return { ...store.showAlert(found), checks: rows };
      },
    }),
    projectOperation("PATCH /alerts/:id/", "alert:write", {
      summary: "Change, snooze, pause or enable an alert",
      description: "A change of what is judged begins anew: not firing, and checked at once.",
      put: "Change an alert; fields without a default are required",
      find: (request) => store.requireAlert(sql, request),
      body: model.alertBody,
      replies: { 200: shownOne },
      answer: async ({ project, found, body }) => {
        const { threshold: sent, ...others } = body;
        const threshold = sent && { threshold: { ...found.threshold, ...sent } };
        const fields = await readFields(parts, project.id, { ...others, ...threshold }, found);
        const named = { id: found.id, project_id: project.id, now: new Date(clock.now()) };
        return store.showAlert(await store.updateAlert(sql, named, fields));
      },
    }),
    projectOperation("DELETE /alerts/:id/", "alert:write", {
      summary: "Delete an alert and its checks",
      find: (request) => store.requireAlert(sql, request),
      replies: { 204: { description: "It is deleted." } },
      answer: ({ found }) => store.removeAlert(sql, found.id),
    }),
  ];
}

/** Kinds of queries that have a figure. */
const judgedKinds: ReadonlySet<unknown> = new Set([
  "TrendsQuery",
  "FunnelsQuery",
  "RetentionQuery",
  "HogQLQuery",
]);

type Sent = Omit<model.AlertUpdate, "threshold"> & { threshold?: model.Alert["threshold"] };

type WholeFields = "threshold" | "condition" | "target_type" | "target_value";

/** The fields that change, checked against the alert before. @throws Fault */
async function readFields(
  { sql, clock, addresses }: SubscriptionParts,
  project_id: number,
  { insight, subscribed_users: sentUsers, snoozed_until: snooze, ...body }: Sent,
  before?: store.StoredAlert,
): Promise<store.AlertFields> {
  const insight_id = insight === undefined ? before!.insight.id : readId(insight, ["insight"]);
  const users = sentUsers?.map((user, i) => readId(user, ["subscribed_users", String(i)]));
  if (insight !== undefined || users) {
    const found = await store.findReferences(sql, project_id, insight_id, users ?? []);
    if (!found) throw missingReference("insight", insight_id);
    if (insight !== undefined && !judgedKinds.has(unwrapQuery(found.query)["kind"]))
      refuseInput("Alerts are not supported for this insight.", "insight");
    const [stranger] = found.strangers;
    if (stranger !== undefined) throw missingReference("subscribed_users", stranger);
  }
  const whole = { ...before, ...body } as Pick<model.Alert, WholeFields>;
  checkThreshold(whole);
  const { target_type: type, target_value: value } = whole;
  if ((type ?? null) === null ? value : !value)
    refuseInput("Set the target's type and value together.", "target_value");
  if (type && value && (body.target_type !== undefined || body.target_value !== undefined))
    await checkTarget(addresses, { target_type: type, target_value: value });
  return {
    ...body,
    ...(insight !== undefined && { insight_id }),
    ...(users && { subscribed_users: [...new Set(users)] }),
    ...(snooze !== undefined && { snoozed_until: snooze === null ? null : readSnooze(snooze, clock.now()) }),
  };
}

/** Reads an id that was sent alone, or within the object that a reply has. @throws Fault */
function readId(value: unknown, path: readonly string[]): number {
  return checkReference(toFields(value)["id"] ?? value, path);
}

/** @throws Fault for a threshold that its condition does not have. */
function checkThreshold({ threshold, condition = {} }: Pick<model.Alert, "threshold" | "condition">): void {
  const { type, bounds } = threshold.configuration;
  const path = ["threshold", "configuration"];
  if (type === "percentage" && (condition.type ?? "absolute_value") === "absolute_value")
    throw fieldFault("invalid_input", "A percentage is of a change: choose a relative condition.", path);
  const { lower = null, upper = null } = bounds ?? {};
  if (lower !== null && upper !== null && lower > upper)
    throw fieldFault("invalid_input", "Lower threshold must be less than upper threshold", path);
}

/** A moment, or a time from now, like `2h`. */
function readSnooze(text: string, now: number): Date {
  const [, count, unit] = /^(\d{1,3})([hdwm])$/.exec(text) ?? [];
  if (unit) {
    const names = { h: "hours", d: "days", w: "weeks", m: "months" };
    const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO("UTC");
    return new Date(at.add({ [names[unit as "h"]]: Number(count) }).epochMilliseconds);
  }
  const moment = toIsoTime(text);
  if (moment === undefined) refuseInput("A moment, or a time from now like 2h, 3d or 1w.", "snoozed_until");
  return new Date(moment);
}

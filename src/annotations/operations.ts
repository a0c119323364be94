// Annotations over HTTP: notes on a moment of charts.

import type { Gate } from "../access/gate.ts";
import { type Access, refuseRestrictedToProjects } from "../access/scope.ts";
import type { Clock } from "../core/clock.ts";
import { Fault, refuseInput } from "../core/fault.ts";
import { missingReference, notFound, parseRowId, present } from "../http/fields/field_fault.ts";
import * as parameter from "../http/fields/query.ts";
import { listSchema, reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { findMissing } from "../storage/postgres/rows.ts";
import { annotationLimits } from "./limits.ts";
import * as model from "./model.ts";
import * as store from "./store.ts";

interface AnnotationParts {
  sql: Postgres;
  clock: Clock;
}

/** Before its result: a day's end, or just after a moment. */
const untilThen = { side: "end", moments: "end" } as const;

const shownOne = reply("The annotation.", model.annotationModel);

export function annotationRoutes({ gate, ...parts }: AnnotationParts & { gate: Gate }) {
  return mounted(gate, "Annotations", [...listOperations(parts), ...oneOperations(parts)]);
}

function listOperations({ sql, clock }: AnnotationParts) {
  return [
    projectOperation("GET /annotations/", "annotation:read", {
      summary: "List annotations, the latest moment first",
      query: {
        search: parameter.searchParameter("Only those with this text."),
        scope: parameter.choiceParameter("Only those shown there; insight: as dashboard_item.", [
          ...model.annotationScopes,
          "insight",
          "recording",
        ]),
        date_from: parameter.momentParameter("Only of moments since then.", clock),
        date_to: parameter.momentParameter("Only of moments until then.", clock, untilThen),
        is_emoji: parameter.flagParameter("true: only emojis; false: only others."),
        dashboard_item: parameter.referenceParameter("Only those of this insight."),
        apply_all: parameter.flagParameter("true: only those of no single insight; false: only others."),
        order: parameter.choiceParameter(
          "The sort order, with a minus before it for the highest first; by default -date_marker.",
          store.annotationOrders,
        ),
        ...parameter.pageParameters("Annotations"),
      },
      replies: { 200: reply("The annotations.", listSchema(model.annotationModel)) },
      answer: async ({ project, query, url }) => {
        const { date_from: from, date_to: to } = query;
        if (from && to && from >= to)
          refuseInput("Invalid date range: date_from must be before date_to", "date_from");
        return pageReply(
          url,
          query,
          await store.listAnnotations(sql, { ...query, project_id: project.id }, query),
        );
      },
    }),
    projectOperation("POST /annotations/", "annotation:write", {
      summary: "Create an annotation",
      body: model.annotationBody,
      replies: { 201: shownOne },
      answer: async ({ access, project, body }) => {
        await checkInput(sql, { access, project }, body, body);
        const annotation = await store.createAnnotation(sql, {
          ...body,
          project_id: project.id,
          user_id: access.user.id,
        });
        if (annotation) return store.toAnnotation(annotation);
        const detail = `A project can have at most ${annotationLimits.annotationsPerProjectMax} annotations.`;
        throw new Fault("invalid_input", detail);
      },
    }),
  ];
}

function oneOperations({ sql }: AnnotationParts) {
  type Named = { project: { id: number }; params: { id: string } };
  const find = async ({ project, params }: Named) =>
    present(await store.findAnnotation(sql, project.id, parseRowId(params.id)));
  return [
    projectOperation("GET /annotations/:id/", "annotation:read", {
      summary: "Get an annotation",
      find,
      replies: { 200: shownOne },
      answer: ({ found }) => {
        if (found.deleted) throw notFound();
        return store.toAnnotation(found);
      },
    }),
    projectOperation("PATCH /annotations/:id/", "annotation:write", {
      summary: "Change an annotation",
      description: '`{"deleted": true}` deletes it, `{"deleted": false}` restores it; there is no DELETE.',
      put: "Change an annotation, as PATCH does",
      find,
      body: model.annotationBody,
      replies: { 200: shownOne },
      answer: async ({ access, project, found, body }) => {
        await checkInput(sql, { access, project }, body, { ...found, ...body }, found.scope);
        const named = { id: found.id, project_id: project.id };
        return store.toAnnotation(present(await store.updateAnnotation(sql, named, body)));
      },
    }),
  ];
}

/**
 * @param whole the annotation after the change. @param before where it was shown.
 * @throws Fault also for a key of some projects that would change what others show.
 */
async function checkInput(
  sql: Postgres,
  { access, project }: { access: Access; project: { id: number } },
  { dashboard_item: insight, dashboard_id: dashboard }: model.AnnotationUpdate,
  whole: Pick<model.Annotation, "content" | "is_emoji" | "scope">,
  before: model.Annotation["scope"] = whole.scope,
): Promise<void> {
  if ([before, whole.scope].includes("organization")) refuseRestrictedToProjects(access);
  const missing = await findMissing(sql, project.id, { insight, dashboard });
  if (missing === "insight") throw missingReference("dashboard_item", insight ?? "");
  if (missing) throw missingReference("dashboard_id", dashboard ?? "");
  const wrong = model.findWrongEmoji(whole);
  if (wrong) refuseInput(wrong, "content");
}

// Exports over HTTP: listed, created, changed, deleted. Only a dry run contacts a destination.

import { sleep } from "../../core/clock.ts";
import { Fault, refuseInput } from "../../core/fault.ts";
import { nilUuid } from "../../core/id.ts";
import { limits } from "../../core/limits.ts";
import { missingReference, notFound } from "../../http/fields/field_fault.ts";
import { toIso } from "../../http/fields/field_time.ts";
import { flagParameter, pageParameters } from "../../http/fields/query.ts";
import { gone, listSchema, reply } from "../../http/fields/schema.ts";
import { projectOperation, toOperations } from "../../http/operation.ts";
import { streamedPage } from "../../http/pages/page.ts";
import { primedTexts } from "../../http/pages/sliced.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { SplitDestination } from "../destinations/check.ts";
import { openDestination } from "../destinations/destinations.ts";
import { tableProblem } from "../destinations/postgres/table_store.ts";
import { exportLimits } from "../limits.ts";
import * as shapes from "../model.ts";
import { writtenColumns } from "../query/compile.ts";
import * as exportStore from "../stores/export_store.ts";
import { checkExport, type Checks } from "./export_input.ts";
import {
  exportOperation,
  type ExportParts,
  type ExportRequest,
  type OneExportRequest,
  requireExport,
  toScope,
} from "./request.ts";

export function exportOperations(parts: ExportParts) {
  return [...readOperations(parts), ...createOperations(parts), ...changeOperations(parts)];
}

const shownOne = { 200: reply("The export.", shapes.exportModel) };

function readOperations(parts: ExportParts) {
  const { sql, parse } = parts;
  return [
    exportOperation("GET /batch_exports/", "batch_export:read", {
      summary: "List batch exports, newest first",
      query: pageParameters("Rows"),
      replies: { 200: reply("The exports.", listSchema(shapes.exportModel)) },
      answer: async (request) => {
        const { query, url } = request;
        const { count, rows } = await exportStore.listExports(sql, toScope(request), query);
        const texts = await primedTexts(shownBlocks(parts, rows), (item) => JSON.stringify(item));
        return await streamedPage(url, query, count, texts);
      },
    }),
    exportOperation("GET /batch_exports/:id/", "batch_export:read", {
      summary: "Get a batch export",
      find: (request) => requireExport(sql, request),
      replies: shownOne,
      answer: ({ found }) => toShown(sql, parse, found),
    }),
  ];
}

/** Exports with their runs are ten times as many rows: they are read while others are sent. */
async function* shownBlocks({ sql, parse }: ExportParts, exports: readonly exportStore.StoredExport[]) {
  for (let at = 0; at < exports.length; at += limits.rowsShownAtOnceMax) {
    const page = await exportStore.withRuns(sql, exports.slice(at, at + limits.rowsShownAtOnceMax));
    const block: shapes.BatchExport[] = [];
    for (const item of page) block.push(await shownExport(parse, item));
    yield block;
  }
}

function createOperations(parts: ExportParts) {
  const make = {
    summary: "Create a batch export",
    description:
      "Its first run covers the current interval, once that has ended. The destination is not contacted, " +
      "except for a Postgres's table of that name, and with `dry_run=true`, which tests it and stores nothing.",
    query: {
      dry_run: flagParameter("true: tests the destination and stores nothing."),
    },
    replies: {
      200: reply("Of a dry run: the destination answered; the export as it would be.", shapes.exportModel),
      201: reply("The export.", shapes.exportModel),
    },
    answer: async (
      request: ExportRequest & { query: { dry_run?: boolean | undefined }; body: shapes.ExportInput },
    ) => await create(parts, request, request.body, request.query.dry_run ?? false),
  } as const;
  return [
    projectOperation("POST /batch_exports/", "batch_export:write", { ...make, body: shapes.exportBody }),
    toOperations("organization")("POST /batch_exports/", "batch_export:write", {
      ...make,
      body: shapes.organizationExportBody,
    }),
  ];
}

async function create(parts: ExportParts, request: ExportRequest, input: shapes.ExportInput, isDry: boolean) {
  const { sql, clock, parse } = parts;
  const project_id = await projectFor(sql, request, input.team_id);
  const { fields, destination } = await checkExport({ ...parts, project_id }, input);
  const now = new Date(clock.now());
  const founding = { ...fields, project_id, created_by: request.access.user.id, now };
  if (isDry) {
    const canCreate = await exportStore.withOwnPath(sql, founding, undefined, (tx) =>
      exportStore.canCreate(tx, founding),
    );
    if (!canCreate) throw tooMany();
    const reason = await probe(parts, founding, destination);
    if (reason !== undefined) refuseInput(`The destination does not work: ${reason}`, "destination");
    const moments = { created_at: now, last_updated_at: now };
    return Response.json(await shownExport(parse, { ...founding, ...moments, id: nilUuid, latest_runs: [] }));
  }
  await refuseTable(parts, founding, destination);
  const createdExport = await exportStore.withOwnPath(sql, founding, undefined, (tx, own_names) =>
    exportStore.createExport(tx, { ...founding, own_names }),
  );
  if (!createdExport) throw tooMany();
  return await shownExport(parse, { ...createdExport, latest_runs: [] });
}

type OwnedFields = exportStore.ExportFields & { project_id: number };

async function probe(parts: ExportParts, owned: OwnedFields, { type, config, secrets }: SplitDestination) {
  const { model, native_query: query, project_id } = owned;
  const columns = query === null ? undefined : await writtenColumns(parts.parse, query, owned);
  const rows = { model, selected: columns?.map(({ alias }) => alias) };
  return await parts.probe({ ...openDestination(type, config, secrets), rows }, project_id);
}

/**
 * Refuses a table without the columns that an export needs. A Postgres that does not answer in time is accepted: its
 * runs report it.
 */
async function refuseTable(parts: ExportParts, owned: OwnedFields, destination: SplitDestination) {
  if (destination.type !== "Postgres") return;
  const probed = probe(parts, owned, destination).catch(() => undefined);
  const reason = await Promise.race([probed, sleep(exportLimits.tableMsMax)]);
  if (reason?.startsWith(tableProblem)) refuseInput(`${reason}.`, "destination__config__table_name");
}

function tooMany(): Fault {
  return new Fault("invalid_input", "This project has as many batch exports as it can have.");
}

async function projectFor(sql: Postgres, { project, organization, access }: ExportRequest, named?: number) {
  if (project) return project.id;
  const found = await exportStore.homeProject(sql, organization.id, named, access.user.current_project_id);
  if (found !== undefined) return found;
  if (named !== undefined) throw missingReference("team_id", named);
  return refuseInput("This organization has no project.", "team_id");
}

function changeOperations(parts: ExportParts) {
  const { sql, clock } = parts;
  return [
    exportOperation("PATCH /batch_exports/:id/", "batch_export:write", {
      summary: "Change a batch export",
      description:
        "`destination.config` is merged into the stored one. When the target of the data changes, secrets " +
        "are required again.",
      put: "Change a batch export; fields without a default are required",
      find: (request) => requireExport(sql, request),
      body: shapes.exportBody,
      replies: shownOne,
      answer: (request) => change(parts, request, request.body),
    }),
    exportOperation("DELETE /batch_exports/:id/", "batch_export:write", {
      summary: "Delete a batch export and cancel its runs",
      find: (request) => requireExport(sql, request),
      replies: gone,
      answer: async ({ found, ...request }) => {
        const now = new Date(clock.now());
        if (!(await exportStore.removeExport(sql, toScope(request), found.id, now))) throw notFound();
      },
    }),
  ];
}

const attemptsMax = 5;

/** Repeats the change when another request changed the export meanwhile, so that no change is lost. */
async function change(parts: ExportParts, request: OneExportRequest, changes: shapes.ExportUpdate) {
  const { sql, clock, parse } = parts;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const stored = await requireExport(sql, request);
    if (Object.keys(changes).length === 0) return await toShown(sql, parse, stored);
    const { project_id } = stored;
    const { fields, destination } = await checkExport({ ...parts, project_id }, changes, stored);
    const owned = { ...fields, project_id };
    if (changes.destination) await refuseTable(parts, owned, destination);
    const now = new Date(clock.now());
    const changed = await exportStore.withOwnPath(sql, owned, stored, (tx, own_names) =>
      exportStore.updateExport(tx, stored, { ...fields, own_names }, now),
    );
    if (changed) return await toShown(sql, parse, changed);
  }
  await requireExport(sql, request);
  throw new Fault("conflict", "The export was changed by another request at the same time. Please retry.");
}

async function toShown(sql: Postgres, parse: Checks["parse"], stored: exportStore.StoredExport) {
  const [exportWithRuns] = await exportStore.withRuns(sql, [stored]);
  return await shownExport(parse, exportWithRuns!);
}

type Shown = OwnedFields &
  Pick<exportStore.ShownExport, "id" | "created_at" | "last_updated_at" | "latest_runs">;

/** @throws Fault unavailable when its query cannot be read now. */
async function shownExport(parse: Checks["parse"], stored: Shown): Promise<shapes.BatchExport> {
  return {
    id: stored.id,
    team_id: stored.project_id,
    name: stored.name,
    model: stored.model,
    destination: { type: stored.destination_type, config: stored.destination_config },
    interval: stored.interval,
    paused: stored.paused,
    created_at: toIso(stored.created_at),
    last_updated_at: toIso(stored.last_updated_at),
    last_paused_at: stored.last_paused_at,
    start_at: stored.start_at,
    end_at: stored.end_at,
    latest_runs: stored.latest_runs,
    native_query: stored.native_query,
    hogql_query: stored.native_query,
    schema: await describeSchema(parse, stored),
    filters: stored.filters,
    timezone: stored.timezone,
    offset_day: stored.interval === "week" ? stored.offset_day : null,
    offset_hour: stored.interval === "day" || stored.interval === "week" ? stored.offset_hour : null,
  };
}

/** The columns of its query, as the owner wrote them. */
async function describeSchema(parse: Checks["parse"], stored: Shown): Promise<shapes.BatchExport["schema"]> {
  const { native_query } = stored;
  if (native_query === null) return null;
  try {
    const fields = await writtenColumns(parse, native_query, stored);
    return { fields, values: {}, hogql_query: native_query };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "invalid_input") throw thrown;
    // An earlier version accepted the query; its runs report what is wrong with it.
    return null;
  }
}

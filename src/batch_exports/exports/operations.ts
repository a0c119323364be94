// Exports as they are asked for: listed, made, changed, paused, removed. Never shows a secret, and contacts a
// destination only when a dry run asks for it.

import type { Clock } from "../../core/clock.ts";
import { Fault } from "../../core/fault.ts";
import { limits } from "../../core/limits.ts";
import { readChanges, readFields, readReplacement } from "../../http/body.ts";
import { begunTexts } from "../../http/pages/long_page.ts";
import { pageEnds, readPage, withoutComma } from "../../http/pages/page.ts";
import { missingReference } from "../../http/fields/field_fault.ts";
import { flagParameter, listSchema, reply, requestBody } from "../../http/fields/schema.ts";
import { streamedReply } from "../../http/pages/sliced.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { type Destination, fullDestination } from "../destinations/config.ts";
import {
  type BatchExport,
  type ExportUpdate,
  type ExportInput,
  exportBody,
  exportModel,
  organizationExportBody,
} from "../model.ts";
import {
  type ExportRequest,
  type ExportReply,
  exportOf,
  idOf,
  notFound,
  ok,
  type Operation,
  present,
} from "../operation.ts";
import { urlOf } from "../operation.ts";
import { shownExport, shownExports } from "./reply.ts";
import {
  canCreate,
  createExport,
  homeProject,
  listExports,
  removeExport,
  showExport,
  type StoredExport,
  updateExport,
  withPlace,
  withRuns,
} from "./store.ts";
import { checkExport, type Checks } from "./export_input.ts";

export interface ExportParts extends Checks {
  sql: Postgres;
  clock: Clock;
  /** Tries a destination of a project out; why it does not work, or undefined when it does. */
  probe: (destination: Destination, project_id: number) => Promise<string | undefined>;
}

/** The operations on exports themselves, but for pausing. */
export function exportOperations(parts: ExportParts): Operation[] {
  return [...readOperations(parts), ...createOperations(parts), ...changeOperations(parts)];
}

const shownOne = reply("The export.", exportModel);
const read = "batch_export:read";
const write = "batch_export:write";

function readOperations({ sql }: ExportParts): Operation[] {
  return [
    {
      method: "GET",
      path: "",
      scope: read,
      detail: {
        summary: "List batch exports, newest first",
        responses: { 200: reply("The exports.", listSchema(exportModel)) },
      },
      answer: async (asked) => {
        const url = urlOf(asked);
        const page = readPage(url.searchParams);
        const { count, exports } = await listExports(sql, asked.place, page);
        const shown = await begunTexts(shownBlocks(sql, exports), (one) => JSON.stringify(one));
        const { head, tail } = pageEnds(url, page, count);
        return ok(await streamedReply(head, withoutComma(shown), tail));
      },
    },
    {
      method: "GET",
      path: ":id/",
      scope: read,
      detail: { summary: "Get a batch export", responses: { 200: shownOne } },
      answer: async (asked) => ok(shownExport(await showExport(sql, await exportOf(sql, asked)))),
    },
  ];
}

/** With their runs: ten times as many rows, so that some are read when others are sent. */
async function* shownBlocks(
  sql: Postgres,
  exports: readonly StoredExport[],
): AsyncGenerator<BatchExport[], void> {
  for (let at = 0; at < exports.length; at += limits.rowsShownAtOnceMax) {
    yield await shownExports(await withRuns(sql, exports.slice(at, at + limits.rowsShownAtOnceMax)));
  }
}

function createOperations(parts: ExportParts): Operation[] {
  const detail = {
    summary: "Create a batch export",
    description:
      "Its first run is that of the interval it was made in, once that is over. The destination is not contacted, " +
      "unless `dry_run=true`: then it is tried out and nothing is stored.",
    parameters: [flagParameter("dry_run", "true: try the destination out, and store nothing.")],
    responses: {
      200: reply("Of a dry run: the destination answered; the export as it would be.", exportModel),
      201: reply("The export.", exportModel),
    },
  };
  const answer = async (asked: ExportRequest) => {
    const body = "project_id" in asked.place ? exportBody : organizationExportBody;
    return await create(parts, asked, await readFields(asked.request, body));
  };
  const common = { method: "POST", path: "", scope: write, answer } as const;
  return [
    { ...common, only: "project", detail: { ...detail, requestBody: requestBody(exportBody) } },
    {
      ...common,
      only: "organization",
      detail: { ...detail, requestBody: requestBody(organizationExportBody) },
    },
  ];
}

async function create(parts: ExportParts, asked: ExportRequest, input: ExportInput): Promise<ExportReply> {
  const { sql, clock, probe } = parts;
  const project_id = await projectFor(sql, asked, input.team_id);
  const { fields, destination } = await checkExport(parts, input);
  const now = new Date(clock.now());
  const founding = { ...fields, project_id, created_by: asked.access.user.id, now };
  if (isDryRun(urlOf(asked).searchParams)) {
    if (!(await withPlace(sql, fields, undefined, (tx) => canCreate(tx, founding)))) throw tooMany();
    const { type, config, secrets } = destination;
    const reason = await probe(fullDestination(type, config, secrets), project_id);
    if (reason !== undefined) {
      throw new Fault("invalid_input", `The destination does not work: ${reason}`, { attr: "destination" });
    }
    return ok(shownExport({ ...wouldBe(now), ...fields, project_id }));
  }
  const made = await withPlace(sql, fields, undefined, (tx) => createExport(tx, founding));
  if (!made) throw tooMany();
  return { status: 201, body: shownExport({ ...made, latest_runs: [] }) };
}

function tooMany(): Fault {
  return new Fault("invalid_input", "This project has as many batch exports as it can have.");
}

/** What a dry run shows of what is not there. */
function wouldBe(now: Date) {
  return {
    id: "00000000-0000-0000-0000-000000000000",
    created_at: now,
    last_updated_at: now,
    scheduled_until: null,
    revision: "",
    latest_runs: [],
  };
}

function isDryRun(query: URLSearchParams): boolean {
  const said = query.get("dry_run");
  return said !== null && !/^(0|false|no|)$/i.test(said);
}

async function projectFor(sql: Postgres, asked: ExportRequest, named: number | undefined): Promise<number> {
  const { place, access } = asked;
  if ("project_id" in place) return place.project_id;
  const { current_project_id } = access.user;
  const found = await homeProject(sql, place.organization_id, named, current_project_id);
  if (found !== undefined) return found;
  if (named !== undefined) throw missingReference("team_id", named);
  throw new Fault("invalid_input", "This organization has no project.", { attr: "team_id" });
}

function changeOperations(parts: ExportParts): Operation[] {
  const { sql, clock } = parts;
  return [
    {
      method: "PATCH",
      path: ":id/",
      scope: write,
      detail: {
        summary: "Change a batch export",
        description:
          "`destination.config` is merged into what is there. When the data is to go elsewhere, secrets are " +
          "asked for again.",
        requestBody: requestBody(exportBody, { partial: true }),
        responses: { 200: shownOne },
      },
      answer: async (asked) => {
        await exportOf(sql, asked);
        return await change(parts, asked, await readChanges(asked.request, exportBody));
      },
    },
    {
      method: "PUT",
      path: ":id/",
      scope: write,
      detail: {
        summary: "Change a batch export, naming it again",
        requestBody: requestBody(exportBody),
        responses: { 200: shownOne },
      },
      answer: async (asked) => {
        await exportOf(sql, asked);
        return await change(parts, asked, await readReplacement(asked.request, exportBody));
      },
    },
    {
      method: "DELETE",
      path: ":id/",
      scope: write,
      detail: {
        summary: "Delete a batch export, and cancel what of it runs",
        responses: { 204: { description: "It is gone." } },
      },
      answer: async ({ place, params }) => {
        const gone = await removeExport(sql, place, idOf(params, "id"), new Date(clock.now()));
        if (!gone) throw notFound();
        return { status: 204 };
      },
    },
  ];
}

const attemptsMax = 5;

/** Reads again what somebody else changed meanwhile, so that no change is lost. */
async function change(parts: ExportParts, asked: ExportRequest, changes: ExportUpdate): Promise<ExportReply> {
  const { sql, clock } = parts;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const stored = await exportOf(sql, asked);
    if (Object.keys(changes).length === 0) return ok(shownExport(await showExport(sql, stored)));
    const { fields } = await checkExport(parts, changes, stored);
    const now = new Date(clock.now());
    const changed = await withPlace(sql, fields, stored, (tx) => updateExport(tx, stored, fields, now));
    if (changed) return ok(shownExport(await showExport(sql, changed)));
  }
  present(await exportOf(sql, asked));
  throw new Fault("conflict", "The export was changed by somebody else at the same time. Please retry.");
}

// What was said while an export ran, as it is asked for. Never says anything itself.

import { exportLimits } from "../limits.ts";
import type { Clock } from "../../core/clock.ts";
import { checkChoice, checkUuid, refuseUnstorable } from "../../http/fields/field_rule.ts";
import { readMoment } from "../../http/pages/moment.ts";
import { pageReply, readLimit, readPage } from "../../http/pages/page.ts";
import {
  listSchema,
  momentParameter,
  pageParameters,
  queryParameter,
  reply,
} from "../../http/fields/schema.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { type LogFilter, listLogs } from "./store.ts";
import { type LogEntryLevel, logEntryLevels, logModel } from "../model.ts";
import { type ExportRequest, exportOf, idOf, ok, type Operation, present, urlOf } from "../operation.ts";
import { getRun } from "../runs/list_store.ts";

export interface LogParts {
  sql: Postgres;
  clock: Clock;
}

export function logOperations({ sql, clock }: LogParts): Operation[] {
  const parameters = [
    queryParameter("level", `Of ${logEntryLevels.join(", ")}: several with commas, or given again.`),
    queryParameter("search", "Only messages with this text, in any case."),
    momentParameter("after", "Only later lines: ISO 8601, or relative like -7d."),
    momentParameter("before", "Only earlier lines, likewise."),
    ...pageParameters("Lines", exportLimits.logsPageDefault),
  ];
  const responses = { 200: reply("The lines.", listSchema(logModel)) };
  const instance = queryParameter("instance_id", "Only lines of this run.", {
    type: "string",
    format: "uuid",
  });
  return [
    {
      method: "GET",
      path: ":id/logs/",
      scope: "batch_export:read",
      detail: {
        summary: "Read an export's log, newest first",
        parameters: [...parameters, instance],
        responses,
      },
      answer: async (asked) => {
        const { id } = await exportOf(sql, asked);
        const said = urlOf(asked).searchParams.get("instance_id");
        const run_id = said ? checkUuid(said, ["instance_id"]) : undefined;
        return await linesOf(sql, asked, { batch_export_id: id, run_id }, clock);
      },
    },
    {
      method: "GET",
      path: ":id/runs/:run_id/logs/",
      scope: "batch_export:read",
      detail: { summary: "Read a run's log, newest first", parameters, responses },
      answer: async (asked) => {
        const { id } = await exportOf(sql, asked);
        const run = present(await getRun(sql, id, idOf(asked.params, "run_id")));
        return await linesOf(sql, asked, { batch_export_id: id, run_id: run.id }, clock);
      },
    },
  ];
}

async function linesOf(sql: Postgres, asked: ExportRequest, own: LogFilter, clock: Clock) {
  const url = urlOf(asked);
  const query = url.searchParams;
  const moment = (name: string) => {
    const text = readMoment(query, name, clock);
    return text && `${text}+00`;
  };
  const search = query.get("search") || undefined;
  if (search !== undefined) refuseUnstorable(search, ["search"]);
  const filter = {
    ...own,
    levels: levelsIn(query),
    search,
    after: moment("after"),
    before: moment("before"),
  };
  const page = { ...readPage(query), limit: readLimit(query, exportLimits.logsPageDefault) };
  const { count, entries } = await listLogs(sql, filter, page);
  return ok(pageReply(url, page, count, entries));
}

function levelsIn(query: URLSearchParams): LogEntryLevel[] | undefined {
  const said = query
    .getAll("level")
    .flatMap((text) => text.split(","))
    .map((text) => text.trim().toUpperCase())
    .filter((text) => text !== "");
  if (said.length === 0) return undefined;
  return said.map((text) => checkChoice(logEntryLevels, text, ["level"]) as LogEntryLevel);
}

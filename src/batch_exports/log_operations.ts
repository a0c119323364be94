// What was said while an export ran, as it is asked for. Never says anything itself.

import { limits } from "../core/limits.ts";
import type { Clock } from "../core/clock.ts";
import { checkChoice, checkUuid, refuseUnstorable } from "../http/field_rule.ts";
import { readMoment } from "../http/moment.ts";
import { pageReply, readLimit, readPage } from "../http/page.ts";
import { listSchema, pageParameters, queryParameter, reply } from "../http/schema.ts";
import type { Postgres } from "../storage/postgres.ts";
import { type LogFilter, listLogs } from "./log_list_store.ts";
import { type LogLevel, logLevels, logModel } from "./model.ts";
import { type Asked, exportOf, idOf, ok, type Operation, present, urlOf } from "./operation.ts";
import { getRun } from "./run_list_store.ts";

export interface LogParts {
  sql: Postgres;
  clock: Clock;
}

export function logOperations({ sql, clock }: LogParts): Operation[] {
  const parameters = [
    queryParameter("level", `Of ${logLevels.join(", ")}: several with commas, or given again.`),
    queryParameter("search", "Only messages with this text, in any case."),
    queryParameter("after", "Only later lines: ISO 8601, or relative like -7d."),
    queryParameter("before", "Only earlier lines, likewise."),
    ...pageParameters("Lines", limits.logsPageDefault),
  ];
  const responses = { 200: reply("The lines.", listSchema(logModel)) };
  const instance = queryParameter("instance_id", "Only lines of this run.");
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

async function linesOf(sql: Postgres, asked: Asked, own: LogFilter, clock: Clock) {
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
  const page = { ...readPage(query), limit: readLimit(query, limits.logsPageDefault) };
  const { count, lines } = await listLogs(sql, filter, page);
  return ok(pageReply(url, page, count, lines));
}

function levelsIn(query: URLSearchParams): LogLevel[] | undefined {
  const said = query
    .getAll("level")
    .flatMap((text) => text.split(","))
    .map((text) => text.trim().toUpperCase())
    .filter((text) => text !== "");
  if (said.length === 0) return undefined;
  return said.map((text) => checkChoice(logLevels, text, ["level"]) as LogLevel);
}

// The log lines of exports and runs, over HTTP.

import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { checkChoice } from "../../http/fields/field_rule.ts";
import * as fields from "../../http/fields/query.ts";
import { listSchema, reply } from "../../http/fields/schema.ts";
import { pageReply } from "../../http/pages/page.ts";
import { exportLimits } from "../limits.ts";
import { type LogEntryLevel, logEntryLevels, logModel } from "../model.ts";
import { getRun, listLogs, type LogFilter } from "../stores/run_list_store.ts";
import { exportOperation, type ExportParts, requireExport } from "./request.ts";

export function logOperations({ sql, clock }: ExportParts) {
  const query = {
    level: {
      ...fields.parameter(
        `Of ${logEntryLevels.join(", ")}: several with commas, or as several parameters.`,
        levelsIn,
      ),
      repeats: true,
    },
    search: fields.searchParameter("Only messages with this text, in any case."),
    after: fields.momentParameter("Only later lines: ISO 8601, or relative like -7d.", clock, {
      end: "before",
    }),
    before: fields.momentParameter("Only earlier lines, likewise.", clock, { start: "after" }),
    ...fields.pageParameters("Lines", exportLimits.logsPageDefault),
  };
  const replies = { 200: reply("The lines.", listSchema(logModel)) };
  const lines = async (url: URL, owner: LogFilter, values: fields.QueryValues<typeof query>) =>
    pageReply(url, values, await listLogs(sql, { ...values, ...owner }, values));
  return [
    exportOperation("GET /batch_exports/:id/logs/", "batch_export:read", {
      summary: "Read an export's log, newest first",
      find: (request) => requireExport(sql, request),
      query: { ...query, instance_id: instanceParameter },
      replies,
      answer: ({ found: { id }, query, url }) =>
        lines(url, { batch_export_id: id, run_id: query.instance_id }, query),
    }),
    exportOperation("GET /batch_exports/:id/runs/:run_id/logs/", "batch_export:read", {
      summary: "Read a run's log, newest first",
      find: async (request) => {
        const { id } = await requireExport(sql, request);
        return { batch_export_id: id, run: present(await getRun(sql, id, parseUuid(request.params.run_id))) };
      },
      query,
      replies,
      answer: ({ found: { batch_export_id, run }, query, url }) =>
        lines(url, { batch_export_id, run_id: run.id }, query),
    }),
  ];
}

const instanceParameter = fields.uuidParameter("Only lines of this run.");

function levelsIn(query: URLSearchParams, name: string): LogEntryLevel[] | undefined {
  const levels = query
    .getAll(name)
    .flatMap((text) => text.split(","))
    .map((text) => text.trim().toUpperCase());
  if (levels.length === 0) return undefined;
  return levels.map((text) => checkChoice(logEntryLevels, text, [name]) as LogEntryLevel);
}

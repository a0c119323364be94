// What was said while an export ran, over HTTP.

import type { Clock } from "../../core/clock.ts";
import { checkChoice, checkUuid, refuseUnstorable } from "../../http/fields/field_rule.ts";
import { momentParameter, pageParameters, parameter, type QueryValues } from "../../http/fields/query.ts";
import { listSchema, reply } from "../../http/fields/schema.ts";
import { present, uuidOf } from "../../http/found.ts";
import { pageReply } from "../../http/pages/page.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { exportLimits } from "../limits.ts";
import { type LogLevel, logLevels, logModel } from "../model.ts";
import { exportOf, exportOperation, timestamptz } from "../operation.ts";
import { getRun } from "../runs/list_store.ts";
import { type LogFilter, listLogs } from "./list_store.ts";

export function logOperations({ sql, clock }: { sql: Postgres; clock: Clock }) {
  const query = logQuery(clock);
  const replies = { 200: reply("The lines.", listSchema(logModel)) };
  const lines = async (url: URL, own: LogFilter, { after, before, ...asked }: QueryValues<typeof query>) => {
    const filter = { ...asked, ...own, after: timestamptz(after), before: timestamptz(before) };
    const { count, lines } = await listLogs(sql, { ...filter, levels: asked.level }, asked);
    return pageReply(url, asked, count, lines);
  };
  return [
    exportOperation({
      method: "GET",
      path: "batch_exports/:id/logs/",
      scope: "batch_export:read",
      summary: "Read an export's log, newest first",
      find: (asked) => exportOf(sql, asked),
      query: { ...query, instance_id: instanceParameter },
      replies,
      answer: ({ found: { id }, query, url }) =>
        lines(url, { batch_export_id: id, run_id: query.instance_id }, query),
    }),
    exportOperation({
      method: "GET",
      path: "batch_exports/:id/runs/:run_id/logs/",
      scope: "batch_export:read",
      summary: "Read a run's log, newest first",
      find: async (asked) => {
        const { id } = await exportOf(sql, asked);
        return { batch_export_id: id, run: present(await getRun(sql, id, uuidOf(asked.params.run_id))) };
      },
      query,
      replies,
      answer: ({ found: { batch_export_id, run }, query, url }) =>
        lines(url, { batch_export_id, run_id: run.id }, query),
    }),
  ];
}

function logQuery(clock: Clock) {
  return {
    level: parameter(`Of ${logLevels.join(", ")}: several with commas, or given again.`, levelsIn),
    search: parameter("Only messages with this text, in any case.", (query, name) => {
      const search = query.get(name) || undefined;
      if (search !== undefined) refuseUnstorable(search, [name]);
      return search;
    }),
    after: momentParameter("Only later lines: ISO 8601, or relative like -7d.", clock),
    before: momentParameter("Only earlier lines, likewise.", clock),
    ...pageParameters("Lines", exportLimits.logsPageDefault),
  };
}

const instanceParameter = parameter(
  "Only lines of this run.",
  (query, name) => {
    const said = query.get(name);
    return said ? checkUuid(said, [name]) : undefined;
  },
  { type: "string", format: "uuid" },
);

function levelsIn(query: URLSearchParams, name: string): LogLevel[] | undefined {
  const said = query
    .getAll(name)
    .flatMap((text) => text.split(","))
    .map((text) => text.trim().toUpperCase())
    .filter((text) => text !== "");
  if (said.length === 0) return undefined;
  return said.map((text) => checkChoice(logLevels, text, [name]) as LogLevel);
}

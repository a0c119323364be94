// The empty lists of resources that do not exist here.

import type { Gate } from "../access/gate.ts";
import { pageParameters, parameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { mounted, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { absentResources, emptyListModel } from "./model.ts";

export function absentResourceRoutes({ gate }: { gate: Gate }) {
  const lists = Object.entries(absentResources).map(([name, { called, scope, filters }]) =>
    projectOperation(`GET /${name}/`, scope, {
      summary: `List no ${called.toLowerCase()}`,
      description: `${called} do not exist here. The list exists for programs that read every list of a project.`,
      query: {
        ...Object.fromEntries(filters.map((filter) => [filter, anyText(filter)])),
        ...pageParameters("Rows"),
      },
      replies: { 200: reply("An empty list.", emptyListModel) },
      answer: ({ query, url }) => pageReply(url, query, { count: 0, rows: [] }),
    }),
  );
  return mounted(gate, "Absent resources", lists);
}

function anyText(filter: string) {
  const text = { type: "string" } as const;
  const isMoment = filter.startsWith("date_");
  const schema = isMoment ? { anyOf: [{ ...text, format: "date-time" as const }, text] } : text;
  return parameter("Any: the list is empty.", () => undefined, schema);
}

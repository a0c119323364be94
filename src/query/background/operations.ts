// Queries in the background over HTTP: polled, and cancelled.

import { flagParameter, refusedParameter } from "../../http/fields/query.ts";
import { gone, reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import type { BackgroundQueries } from "./background_queries.ts";
import { queryStatusReply } from "./model.ts";
import { statusReply } from "./status.ts";

export function backgroundOperations(background: BackgroundQueries) {
  return [
    projectOperation("GET /query/:id/", "query:read", {
      summary: "Read a background query",
      find: ({ access, project, params: { id } }) => background.find({ project_id: project.id, access, id }),
      description:
        "For the key that started it, until ten minutes after its end: 202 while it runs, 200 with the query's " +
        "reply, 400 with the reason of its failure.",
      query: {
        show_progress: flagParameter("Accepted; there is no `query_progress` here."),
        showProgress: flagParameter("As `show_progress`."),
      },
      replies: {
        202: reply("It runs.", queryStatusReply),
        200: reply("It has ended.", queryStatusReply),
      },
      answer: ({ found }) => statusReply(found),
    }),
    projectOperation("DELETE /query/:id/", "query:read", {
      summary: "Cancel a query by its id",
      description: "A background query, whose result is forgotten, or one in the foreground.",
      find: ({ access, project, params: { id } }) =>
        background.cancelOf({ project_id: project.id, access, id }),
      query: { dequeue_only: refusedParameter("A query that runs is cancelled as well as one that waits.") },
      replies: gone,
      answer: ({ found: cancel }) => cancel(),
    }),
  ] as const;
}

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
      summary: "Read a query that was asked in the background",
      find: ({ access, project, params: { id } }) => background.find({ project_id: project.id, access, id }),
      description:
        "By the key that asked it, for ten minutes after it ended: 202 while it runs, 200 with what the query is " +
        "answered, 400 with why it failed.",
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
      description: "One in the background, whose result is forgotten, or one that is waited for.",
      find: ({ access, project, params: { id } }) =>
        background.cancelOf({ project_id: project.id, access, id }),
      query: { dequeue_only: refusedParameter("A query that runs is cancelled as well as one that waits.") },
      replies: gone,
      answer: ({ found: cancel }) => cancel(),
    }),
  ] as const;
}

// A recording's events over HTTP, as a player takes them. Never changes anything.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../../access/gate.ts";
import { queryParameter, reply } from "../../http/fields/schema.ts";
import { type RecordingReaderOptions, getRow, idOf } from "../recording_reader.ts";
import { answerSnapshots } from "./answer.ts";
import type { ReadingBudget } from "./reading_budget.ts";
import { snapshotsModel } from "./model.ts";

export interface SnapshotRoutes extends RecordingReaderOptions {
  gate: Gate;
  budget: ReadingBudget;
}

export function snapshotRoutes({ gate, budget, ...reader }: SnapshotRoutes) {
  const app = new Elysia({ name: "session_recordings: snapshots", tags: ["Session recordings"] }).use(gate);
  for (const home of projectHomes) {
    app.get(
      `${home}/session_recordings/:id/snapshots/`,
      async ({ project, params, request }) => {
        const { session_id } = await getRow(reader, project.id, idOf(params));
        const { clickhouse } = reader;
        return await answerSnapshots({ clickhouse, budget }, { project_id: project.id, session_id }, request);
      },
      {
        project_scope: "session_recording:read",
        detail: {
          summary: "Get what was recorded, as rrweb events",
          description:
            "Without a source: events by window, a few megabytes a page. With ?source=blob_v2 and a blob_key (or " +
            "start_blob_key and end_blob_key): JSON lines, each [window_id, event]. What its recorder compressed is " +
            "inflated, up to a bound of a page; beyond it, events come as they were sent (`cv`). A piece of " +
            "more than 8 MiB is left out, as is what a piece has beyond 32,768 events: in its place is an event of " +
            "type 5 with the tag left_out and the bytes.",
          parameters: [
            queryParameter("source", "blob_v2 for JSON lines."),
            queryParameter("blob_key", "One blob of the sources."),
            queryParameter("start_blob_key", "The first of several blobs."),
            queryParameter("end_blob_key", "The last of them."),
          ],
          responses: { 200: reply("The events.", snapshotsModel) },
        },
      },
    );
  }
  return app;
}

// A recording's events over HTTP, as a player reads them.

import { reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { snapshotsModel } from "../model.ts";
import { getRow, type RecordingReaderOptions } from "../recording_reader.ts";
import { answerSnapshots, snapshotQuery } from "./answer.ts";
import type { Readers } from "./pieces.ts";

export function snapshotOperations(reader: RecordingReaderOptions & { readers: Readers }) {
  return [
    projectOperation("GET /session_recordings/:id/snapshots/", "session_recording:read", {
      summary: "Get the rrweb events of a session recording",
      description:
        "Without a source: events by window, a few megabytes a page. With ?source=blob_v2 and a blob_key (or " +
        "start_blob_key and end_blob_key): JSON lines, each [window_id, event]. What its recorder compressed is " +
        "inflated, up to a bound of a page; beyond it, events come as they were sent (`cv`). A piece of " +
        "more than 8 MiB is left out, as is what a piece has beyond 32,768 events: in its place is an event of " +
        "type 5 with the tag left_out and the bytes.",
      find: ({ project, params }) => getRow(reader, project.id, params.id),
      query: snapshotQuery,
      replies: { 200: reply("The events.", snapshotsModel) },
      answer: ({ found: { session_id }, query, ...context }) =>
        answerSnapshots(reader, { project_id: context.project.id, session_id }, query, context),
    }),
  ];
}

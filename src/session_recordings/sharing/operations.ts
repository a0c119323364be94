// How recordings are shared, over HTTP.

import { reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { sharingBody, sharingModel } from "../model.ts";
import { type RecordingReaderOptions, findRow, getRow } from "../recording_reader.ts";
import { takeSharing, unshared } from "./store.ts";

const shownOne = { 200: reply("How it is shared.", sharingModel) };

export function sharingOperations(reader: RecordingReaderOptions) {
  const { sql, clock } = reader;
  return [
    projectOperation({
      method: "GET",
      path: "session_recordings/:id/sharing/",
      scope: "sharing_configuration:read",
      summary: "Get how a session recording is shared",
      description:
        "A session without recorded data is not shared: its token opens nothing, and changes each time.",
      replies: shownOne,
      answer: async ({ project, params: { id: session_id } }) => {
        const row = await findRow(reader, project.id, session_id);
        const now = new Date(clock.now());
        // Nothing is stored for ids that anybody may make up.
        if (!row) return unshared(now);
        return await takeSharing(sql, { project_id: project.id, session_id }, now);
      },
    }),
    projectOperation({
      method: "PATCH",
      path: "session_recordings/:id/sharing/",
      // Whoever shares a recording has the token that shows it.
      scope: ["sharing_configuration:write", "session_recording:read"],
      summary: "Share a session recording, or stop sharing it",
      description: "After sharing is disabled, the old token opens nothing, and there is a new one.",
      find: ({ project, params }) => getRow(reader, project.id, params.id),
      body: sharingBody,
      replies: shownOne,
      answer: async ({ project, found: { session_id }, body: { enabled } }) => {
        const recording = { project_id: project.id, session_id };
        return await takeSharing(sql, recording, new Date(clock.now()), enabled);
      },
    }),
  ];
}

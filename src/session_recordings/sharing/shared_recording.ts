// Recordings as shareable things.

import type { Shareable } from "../../sharing/operations.ts";
import type { SharedLink } from "../../sharing/store.ts";
import { findRow, getRecording, nowhere, type RecordingReaderOptions } from "../recording_reader.ts";

/** A session's pieces may still arrive: it cannot be shared before. */
export function shareableRecordings(reader: RecordingReaderOptions): Shareable<"session_recordings"> {
  return {
    kind: "recording",
    things: "session_recordings",
    noun: "a session recording",
    scopes: ["session_recording:read"],
    description:
      "A session without recorded data is not shared: its token opens nothing, and changes each time.",
    nowhere,
    find: async (project_id, id) => (await findRow(reader, project_id, id))?.session_id,
  };
}

/** All of a recording except its person. */
export function openSharedRecordings(reader: RecordingReaderOptions) {
  return async ({ project_id, target }: SharedLink): Promise<object> => {
    // User 0 is nobody: nothing is marked as seen.
    const recording = await getRecording(reader, { project_id, user_id: 0 }, target);
    const { person: _, distinct_id: __, viewed: ___, ...shown } = recording;
    return shown;
  };
}

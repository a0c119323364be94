// Recordings as a link shows them: as shareable things, and their rrweb events for clients with a token.

import { Elysia } from "elysia";
import { notFound } from "../http/fields/field_fault.ts";
import { readQuery } from "../http/fields/query.ts";
import { LongReply } from "../http/pages/long_reply.ts";
import { requestUrl } from "../http/pages/page.ts";
import type { Shareable } from "../sharing/operations.ts";
import { linkHeaders } from "../sharing/route.ts";
import type { SharedLink } from "../sharing/store.ts";
import type { LinkCache } from "../sharing/tokens.ts";
import { findRow, getRecording, getRow, nowhere, type RecordingReaderOptions } from "./recording_reader.ts";
import { answerSnapshots, snapshotQuery } from "./snapshots/answer.ts";
import type { Readers } from "./snapshots/pieces.ts";

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

/** All of a recording except its person, and its session's id, which is for members. */
export function openSharedRecordings(reader: RecordingReaderOptions) {
  return async ({ project_id, target }: SharedLink): Promise<object> => {
    // User 0 is nobody: nothing is marked as seen.
    const recording = await getRecording(reader, { project_id, user_id: 0 }, target);
    const { id: _, person: __, distinct_id: ___, viewed: ____, ...publicFields } = recording;
    return publicFields;
  };
}

/** These need no key: the token grants access. */
export function sharedSnapshotRoutes({
  links,
  ...reader
}: RecordingReaderOptions & { readers: Readers; links: LinkCache }) {
  return new Elysia({ name: "shared snapshots" }).get(
    "/shared/:token/snapshots/",
    async ({ params, request, set }) => {
      Object.assign(set.headers, linkHeaders);
      const link = await links.open(params.token, request);
      if (link?.kind !== "recording") throw notFound();
      const { project_id, target: session_id } = link;
      await getRow(reader, project_id, session_id);
      const url = requestUrl(request);
      const query = readQuery(snapshotQuery, url.searchParams);
      const reply = await answerSnapshots(reader, { project_id, session_id }, query, { url, request });
      return reply instanceof LongReply
        ? reply.admit(project_id, () => links.open(params.token, request))
        : reply;
    },
    { detail: { hide: true } },
  );
}

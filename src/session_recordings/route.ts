// Session recordings over HTTP: listed, read, marked as seen, deleted. Holds no logic of its own.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { readChanges, readFields } from "../http/body.ts";
import { pageReply, readPage, requestUrl } from "../http/pages/page.ts";
import {
  listSchema,
  momentParameter,
  pageParameters,
  queryParameter,
  reply,
  requestBody,
} from "../http/fields/schema.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { promptRoutes, type PromptRoutes } from "./ai/route.ts";
import {
  type RecordingReaderOptions,
  existing,
  findRow,
  getRecording,
  idOf,
  listPage,
  recordingNotFound,
} from "./recording_reader.ts";
import { readWanted } from "./filter.ts";
import { markDeleted, markViewed } from "./mark/store.ts";
import { CountCache } from "../work/count_cache.ts";
import { sharingRoutes } from "./sharing/route.ts";
import { ReadingBudget } from "./snapshots/reading_budget.ts";
import { snapshotRoutes } from "./snapshots/route.ts";
import { emptyRecording } from "./store.ts";
import { bulkBody, bulkModel, recordingBody, recordingModel } from "./model.ts";

export interface RecordingRoutes extends RecordingReaderOptions, PromptRoutes {
  gate: Gate;
}

export function sessionRecordingRoutes(parts: RecordingRoutes) {
  const app = new Elysia({ name: "session_recordings", tags: ["Session recordings"] });
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  for (const home of projectHomes) {
    app.use(listRoutes(counted, `${home}/session_recordings/`));
    app.use(oneRoutes(counted, `${home}/session_recordings/:id/`));
  }
  // One for all who read what was recorded, with a key or through a link.
  const reading = { ...parts, budget: new ReadingBudget() };
  return app.use(sharingRoutes(reading)).use(snapshotRoutes(reading)).use(promptRoutes(parts));
}

interface Counted extends RecordingRoutes {
  counts: CountCache;
}

function listRoutes({ gate, ...reader }: Counted, path: string) {
  const { sql, clock, counts } = reader;
  return new Elysia({ name: `session_recordings: ${path}`, tags: ["Session recordings"] })
    .use(gate)
    .get(
      path,
      async ({ access, project, request }) => {
        const url = requestUrl(request);
        const query = url.searchParams;
        const page = readPage(query);
        const viewer = { project_id: project.id, user_id: access.user.id };
        const wanted = await readWanted(reader, project.id, query);
        const { count, recordings } = await listPage(reader, viewer, wanted, page);
        return await slicedJson({ ...pageReply(url, page, count, recordings) });
      },
      {
        project_scope: "session_recording:read",
        detail: {
          summary: "List session recordings, newest first",
          parameters: [
            momentParameter(
              "date_from",
              "Only recordings that began then or later: ISO 8601, or relative like -3d.",
            ),
            momentParameter("date_to", "Only recordings that began earlier, likewise."),
            queryParameter("distinct_id", "Only recordings of this distinct id."),
            queryParameter("person_uuid", "Only recordings of this person.", {
              type: "string",
              format: "uuid",
            }),
            queryParameter("session_ids", "Only these: a JSON list, or ids with commas between."),
            ...pageParameters("Recordings"),
          ],
          responses: { 200: reply("The recordings.", listSchema(recordingModel)) },
        },
      },
    )
    .post(
      `${path}bulk_delete/`,
      async ({ access, project, request }) => {
        const { session_recording_ids: ids } = await readFields(request, bulkBody);
        const asked = [...new Set(ids)];
        const found = await existing(reader, project.id, asked);
        const by = { user_id: access.user.id, at: new Date(clock.now()) };
        const gone = await markDeleted(
          sql,
          project.id,
          found.map(({ session_id }) => session_id),
          by,
        );
        counts.forget(project.id);
        return {
          success: true,
          deleted_count: gone.length,
          total_requested: asked.length,
          not_found_count: asked.length - gone.length,
        };
      },
      {
        project_scope: "session_recording:write",
        detail: {
          summary: "Delete up to 100 session recordings",
          requestBody: requestBody(bulkBody),
          responses: { 200: reply("How many were deleted.", bulkModel) },
        },
      },
    );
}

function oneRoutes({ gate, ...reader }: Counted, path: string) {
  const { sql, clock, counts } = reader;
  return new Elysia({ name: `session_recordings: ${path}`, tags: ["Session recordings"] })
    .use(gate)
    .get(
      path,
      ({ access, project, params }) =>
        getRecording(reader, { project_id: project.id, user_id: access.user.id }, idOf(params)),
      {
        project_scope: "session_recording:read",
        detail: {
          summary: "Get a session recording",
          responses: { 200: reply("The recording.", recordingModel) },
        },
      },
    )
    .patch(
      path,
      async ({ access, project, params, request }) => {
        const viewer = { project_id: project.id, user_id: access.user.id };
        const id = idOf(params);
        const row = (await findRow(reader, project.id, id)) ?? emptyRecording(id);
        const { viewed } = await readChanges(request, recordingBody);
        if (viewed !== undefined) await markViewed(sql, project.id, viewer.user_id, id, viewed);
        return await getRecording(reader, viewer, id, row);
      },
      {
        project_scope: "session_recording:write",
        detail: {
          summary: "Change a session recording",
          description: "One without pieces has no moments, shown as 1970; it may be marked all the same.",
          requestBody: requestBody(recordingBody, { partial: true }),
          responses: { 200: reply("The recording.", recordingModel) },
        },
      },
    )
    .delete(
      path,
      async ({ access, project, params, status }) => {
        const id = idOf(params);
        await findRow(reader, project.id, id);
        const by = { user_id: access.user.id, at: new Date(clock.now()) };
        const gone = await markDeleted(sql, project.id, [id], by);
        // Somebody else was faster.
        if (gone.length === 0) throw recordingNotFound();
        counts.forget(project.id);
        return status(204);
      },
      {
        project_scope: "session_recording:write",
        detail: {
          summary: "Delete a session recording",
          description:
            "It is gone from every reply at once, and from the disk within a day; so are pieces that come later.",
          responses: { 204: { description: "It is gone." } },
        },
      },
    );
}

// How recordings are shared, over HTTP, and what a shared one shows to whoever has its token. Never shows its person.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../../access/gate.ts";
import { Fault } from "../../core/fault.ts";
import { readChanges } from "../../http/body.ts";
import { reply, requestBody } from "../../http/fields/schema.ts";
import { type RecordingReaderOptions, findRow, getRecording, getRow, idOf } from "../recording_reader.ts";
import { answerSnapshots } from "../snapshots/answer.ts";
import type { ReadingBudget } from "../snapshots/reading_budget.ts";
import { sharingBody, sharingModel } from "./model.ts";
import { findShared, takeSharing, unshared } from "./store.ts";

export interface SharingRoutes extends RecordingReaderOptions {
  gate: Gate;
  budget: ReadingBudget;
}

export function sharingRoutes({ gate, budget, ...reader }: SharingRoutes) {
  const app = new Elysia({ name: "session_recordings: sharing", tags: ["Session recordings"] }).use(gate);
  for (const home of projectHomes) {
    const path = `${home}/session_recordings/:id/sharing/`;
    app.get(
      path,
      async ({ project, params }) => {
        const session_id = idOf(params);
        const row = await findRow(reader, project.id, session_id);
        const now = new Date(reader.clock.now());
        // Nothing is kept of ids that anybody may make up.
        if (!row) return unshared(now);
        return await takeSharing(reader.sql, { project_id: project.id, session_id }, now);
      },
      {
        project_scope: "sharing_configuration:read",
        detail: {
          summary: "Get how a session recording is shared",
          description:
            "One without pieces is not shared: its token opens nothing, and is another one each time.",
          responses: { 200: reply("How it is shared.", sharingModel) },
        },
      },
    );
    app.patch(
      path,
      async ({ project, params, request }) => {
        const { session_id } = await getRow(reader, project.id, idOf(params));
        const { enabled } = await readChanges(request, sharingBody);
        const recording = { project_id: project.id, session_id };
        return await takeSharing(reader.sql, recording, new Date(reader.clock.now()), enabled);
      },
      {
        // Whoever shares a recording has the token that shows it.
        project_scope: ["sharing_configuration:write", "session_recording:read"],
        detail: {
          summary: "Share a session recording, or stop sharing it",
          description: "Once it was disabled, its token opens nothing any more, and it has a new one.",
          requestBody: requestBody(sharingBody, { partial: true }),
          responses: { 200: reply("How it is shared.", sharingModel) },
        },
      },
    );
  }
  return app.use(sharedRoutes(reader, budget));
}

/** Without a key: the token is one. */
function sharedRoutes(reader: RecordingReaderOptions, budget: ReadingBudget) {
  const hidden = { detail: { hide: true } } as const;
  return new Elysia({ name: "shared" })
    .get(
      "/shared/:token/",
      async ({ params, set }) => {
        const { project_id, session_id } = await openShared(reader, params.token);
        set.headers["cache-control"] = "no-store";
        // Nobody's user: nothing is marked as seen.
        const recording = await getRecording(reader, { project_id, user_id: 0 }, session_id);
        const { person: _, distinct_id: __, viewed: ___, ...shown } = recording;
        return shown;
      },
      hidden,
    )
    .get(
      "/shared/:token/snapshots/",
      async ({ params, request }) => {
        const { project_id, session_id } = await openShared(reader, params.token);
        await getRow(reader, project_id, session_id);
        const { clickhouse } = reader;
        return await answerSnapshots({ clickhouse, budget }, { project_id, session_id }, request);
      },
      hidden,
    );
}

async function openShared(reader: RecordingReaderOptions, token: string) {
  const shared = /^[0-9A-Za-z]{1,64}$/.test(token) ? await findShared(reader.sql, token) : undefined;
  if (!shared) throw new Fault("not_found", "Not found.");
  return shared;
}

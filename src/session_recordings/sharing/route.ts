// What a shared recording shows to whoever has its token: all except its person.

import { Elysia } from "elysia";
import { readQuery } from "../../http/fields/query.ts";
import { notFound } from "../../http/found.ts";
import { requestUrl } from "../../http/pages/page.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import { type RecordingReaderOptions, getRecording, getRow } from "../recording_reader.ts";
import { answerSnapshots, snapshotQuery } from "../snapshots/answer.ts";
import type { ReadingBudget } from "../snapshots/reading_budget.ts";
import { findShared } from "./store.ts";

export interface SharedParts extends RecordingReaderOptions {
  budget: ReadingBudget;
  /** The page that plays a shared recording, for a browser; undefined for a program. */
  player: (request: Request) => Promise<Response> | undefined;
}

/** Without a key, since the token is one. */
export function sharedRoutes(reader: SharedParts) {
  const hidden = { detail: { hide: true } } as const;
  return new Elysia({ name: "shared" })
    .get(
      "/shared/:token/",
      async ({ params, request, set }) => {
        // The page itself requests this address as a program does, and shows when the token opens nothing.
        const page = reader.player(request);
        if (page) return await page;
        const { project_id, session_id } = await openShared(reader, params.token);
        readQuery({}, requestUrl(request).searchParams);
        set.headers["cache-control"] = "no-store";
        set.headers["vary"] = "accept";
        // User 0 is nobody: nothing is marked as seen.
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
        const url = requestUrl(request);
        const query = readQuery(snapshotQuery, url.searchParams);
        const reply = await answerSnapshots(reader, { project_id, session_id }, query, { url, request });
        if (reply instanceof LongReply) reply.readmit = () => findShared(reader.sql, params.token);
        return reply;
      },
      hidden,
    );
}

async function openShared(reader: RecordingReaderOptions, token: string) {
  const shared = /^[0-9A-Za-z]{1,64}$/.test(token) ? await findShared(reader.sql, token) : undefined;
  if (!shared) throw notFound();
  return shared;
}

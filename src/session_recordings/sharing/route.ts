// What a shared recording shows to whoever has its token: all but its person.

import { Elysia } from "elysia";
import { readQuery } from "../../http/fields/query.ts";
import { notFound } from "../../http/found.ts";
import { requestUrl } from "../../http/pages/page.ts";
import { type RecordingReaderOptions, getRecording, getRow } from "../recording_reader.ts";
import { answerSnapshots, snapshotQuery } from "../snapshots/answer.ts";
import type { ReadingBudget } from "../snapshots/reading_budget.ts";
import { findShared } from "./store.ts";

/** Without a key: the token is one. */
export function sharedRoutes(reader: RecordingReaderOptions & { budget: ReadingBudget }) {
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
        const url = requestUrl(request);
        const query = readQuery(snapshotQuery, url.searchParams);
        return await answerSnapshots(reader, { project_id, session_id }, query, { url, request });
      },
      hidden,
    );
}

async function openShared(reader: RecordingReaderOptions, token: string) {
  const shared = /^[0-9A-Za-z]{1,64}$/.test(token) ? await findShared(reader.sql, token) : undefined;
  if (!shared) throw notFound();
  return shared;
}

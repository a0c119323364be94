// The rrweb events of a shared recording, for clients with its token.

import { Elysia } from "elysia";
import { notFound } from "../../http/fields/field_fault.ts";
import { readQuery } from "../../http/fields/query.ts";
import { LongReply } from "../../http/pages/long_reply.ts";
import { requestUrl } from "../../http/pages/page.ts";
import { linkHeaders } from "../../sharing/route.ts";
import type { LinkCache } from "../../sharing/tokens.ts";
import { getRow, type RecordingReaderOptions } from "../recording_reader.ts";
import { answerSnapshots, snapshotQuery } from "../snapshots/answer.ts";
import type { Readers } from "../snapshots/pieces.ts";

/** These need no key: the token grants access. */
export function sharedSnapshotRoutes({
  links,
  ...reader
}: RecordingReaderOptions & { readers: Readers; links: LinkCache }) {
  return new Elysia({ name: "shared snapshots" }).get(
    "/shared/:token/snapshots/",
    async ({ params, request, set }) => {
      Object.assign(set.headers, linkHeaders);
      const link = await links.open(params.token);
      if (link?.kind !== "recording") throw notFound();
      const { project_id, target: session_id } = link;
      await getRow(reader, project_id, session_id);
      const url = requestUrl(request);
      const query = readQuery(snapshotQuery, url.searchParams);
      const reply = await answerSnapshots(reader, { project_id, session_id }, query, { url, request });
      return reply instanceof LongReply ? reply.admit(project_id, () => links.open(params.token)) : reply;
    },
    { detail: { hide: true } },
  );
}

// Operations on several session recordings at once, and on the events of their sessions.

import { Fault } from "../core/fault.ts";
import { parameter } from "../http/fields/query.ts";
import { reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";
import type { CountCache } from "../work/count_cache.ts";
import { readIds, readRequiredIds } from "./filter.ts";
import { conditionParameters, refuseUnsetIn } from "./listing/conditions.ts";
import { listMatchingEvents } from "./listing/matching_store.ts";
import * as model from "./model.ts";
import { existing, getRow, type RecordingReaderOptions } from "./recording_reader.ts";
import { deleteRecordings } from "./remove.ts";
import { readFirstProperties } from "./store.ts";
import { markViewed } from "./view_store.ts";

type Parts = RecordingReaderOptions & Parameters<typeof deleteRecordings>[0] & { counts: CountCache };

export function manyOperations(parts: Parts) {
  return [...eventOperations(parts), ...bulkOperations(parts)] as const;
}

function eventOperations(parts: Parts) {
  const { clickhouse, clock } = parts;
  return [
    projectOperation("GET /session_recordings/matching_events/", "session_recording:read", {
      summary: "List the events of one recording's session that match",
      query: {
        session_ids: parameter("Required: one id, or a JSON list of it.", readIds),
        events: conditionParameters.events,
        properties: conditionParameters.properties,
      },
      replies: {
        200: reply(
          "At most a thousand, the first ones first; filters of persons and sessions do not narrow them.",
          model.matchingEventsModel,
        ),
      },
      answer: async ({ project, query: { session_ids, events, properties }, request }) => {
        const [session_id, ...others] = session_ids ?? [];
        if (session_id === undefined || others.length > 0)
          throw new Fault("invalid_input", "Must specify exactly one session_id");
        if (events.length === 0 && !properties.some(({ type }) => type === "event"))
          throw new Fault("invalid_input", "Must specify at least one filter of events or their properties");
        const row = await getRow(parts, project.id, session_id);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const conditions = { events, properties };
        await refuseUnsetIn(reads, { ...conditions, logged: [], having: [], operand: "AND" });
        const moment = { now: clock.now(), timezone: readStoredZone(project.timezone) };
        return { results: await listMatchingEvents(reads, row, conditions, moment) };
      },
    }),
    projectOperation("GET /session_recordings/properties/", "session_recording:read", {
      summary: "List the properties of the first event of each of these recordings' sessions",
      description: "Missing recordings and sessions without events are left out.",
      query: {
        session_ids: parameter("Required: a JSON list, or ids with commas between.", readRequiredIds),
      },
      replies: { 200: reply("The properties.", model.sessionPropertiesModel) },
      answer: async ({ project, query, request }) => {
        const found = await existing(parts, project.id, query.session_ids);
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const ids = found.map(({ session_id }) => session_id);
        const rows = await readFirstProperties(reads, ids);
        const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>;
        const results = rows.map(({ session_id: id, properties }) => ({
          id,
          properties: parsed(properties),
        }));
        return await slicedJson({ results });
      },
    }),
  ] as const;
}

interface Requested {
  access: { user: { id: number } };
  project: { id: number };
  body: { session_recording_ids: string[] };
}

function bulkOperations(parts: Parts) {
  const { sql, counts } = parts;
  const mark = async ({ access, project, body }: Requested, viewed: boolean) => {
    const requested = [...new Set(body.session_recording_ids)];
    const ids = (await existing(parts, project.id, requested)).map(({ session_id }) => session_id);
    await markViewed(sql, project.id, access.user.id, ids, viewed);
    return { changed: ids.length, total_requested: requested.length };
  };
  return [
    projectOperation("POST /session_recordings/bulk_viewed/", "session_recording:write", {
      summary: "Mark up to 100 session recordings as viewed by you",
      body: model.bulkBody,
      replies: { 200: reply("How many there are.", model.bulkViewedModel) },
      answer: async (request) => {
        const { changed, total_requested } = await mark(request, true);
        return { success: true, viewed_count: changed, total_requested };
      },
    }),
    projectOperation("POST /session_recordings/bulk_not_viewed/", "session_recording:write", {
      summary: "Mark up to 100 session recordings as not viewed by you",
      body: model.bulkBody,
      replies: { 200: reply("How many there are.", model.bulkNotViewedModel) },
      answer: async (request) => {
        const { changed, total_requested } = await mark(request, false);
        return { success: true, not_viewed_count: changed, total_requested };
      },
    }),
    projectOperation("POST /session_recordings/bulk_delete/", "session_recording:write", {
      summary: "Delete up to 100 session recordings",
      body: model.bulkBody,
      replies: { 200: reply("How many were deleted.", model.bulkModel) },
      answer: async ({ access, project, body }) => {
        const requested = [...new Set(body.session_recording_ids)];
        const found = await existing(parts, project.id, requested);
        const ids = found.map(({ session_id }) => session_id);
        const deleted = await deleteRecordings(parts, project.id, access.user.id, ids);
        counts.forget(project.id);
        return {
          success: true,
          deleted_count: deleted.length,
          total_requested: requested.length,
          not_found_count: requested.length - deleted.length,
        };
      },
    }),
  ] as const;
}

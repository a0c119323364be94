// Session recordings over HTTP: listed, read, marked as seen, deleted.

import type { Gate } from "../access/gate.ts";
import { notFound } from "../http/fields/field_fault.ts";
import {
  choiceParameter,
  momentParameter,
  pageParameters,
  parameter,
  textParameter,
} from "../http/fields/query.ts";
import { gone, reply } from "../http/fields/schema.ts";
import { mounted, type OperationRequest, projectOperation } from "../http/operation.ts";
import { pageReply } from "../http/pages/page.ts";
import { slicedJson } from "../http/pages/sliced.ts";
import { sharingOperations } from "../sharing/operations.ts";
import type { SharingParts } from "../sharing/tokens.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import { readStoredZone } from "../storage/clickhouse/zones.ts";
import { filterFault } from "../storage/events/filter_fault.ts";
import { testAccountFilters } from "../storage/events/test_accounts.ts";
import { recordingsStoredWithin } from "../storage/watermark.ts";
import { CountCache } from "../work/count_cache.ts";
import { promptOperations, type PromptParts } from "./ai/operations.ts";
import { readIds, readPersonFilter } from "./filter.ts";
import { sessionRecordingLimits } from "./limits.ts";
import {
  chooseAttr,
  conditionParameters,
  orderParameters,
  readConditions,
  readOrder,
  refuseUnsetIn,
} from "./listing/conditions.ts";
import { manyOperations } from "./many_operations.ts";
import * as model from "./model.ts";
import {
  findRow,
  getRecording,
  listPage,
  nowhere,
  type RecordingReaderOptions,
  viewers,
} from "./recording_reader.ts";
import { deleteRecordings } from "./remove.ts";
import { shareableRecordings, sharedSnapshotRoutes } from "./route.ts";
import { snapshotOperations } from "./snapshots/operations.ts";
import { Readers } from "./snapshots/pieces.ts";
import { emptyRecording, hasArrived } from "./store.ts";
import { countOtherViewers, markViewed } from "./view_store.ts";

type RecordingParts = RecordingReaderOptions & PromptParts & { sharing: SharingParts };

type Counted = RecordingParts & { counts: CountCache };

export function sessionRecordingRoutes({ gate, ...parts }: RecordingParts & { gate: Gate }) {
  const counted = { ...parts, counts: new CountCache(parts.clock) };
  // All readers of recordings share their permits, with a key or through a link.
  const reading = { ...parts, readers: new Readers() };
  return mounted(gate, "Session recordings", [
    ...listOperations(counted),
    ...manyOperations(counted),
    ...oneOperations(counted),
    ...sharingOperations(parts.sharing, shareableRecordings(parts)),
    ...snapshotOperations(reading),
    ...promptOperations(parts),
  ]).use(sharedSnapshotRoutes({ ...reading, links: parts.sharing.links }));
}

const shownOne = { 200: reply("The recording.", model.recordingModel) };

function listOperations(parts: Counted) {
  const { sql, clock } = parts;
  return [
    projectOperation("GET /session_recordings/", "session_recording:read", {
      summary: "List session recordings, by default newest first",
      query: {
        date_from: momentParameter("Only those that began then or later, like -3d.", clock, {
          side: "start",
        }),
        date_to: momentParameter("Only those that began earlier, or on that day.", clock, { side: "end" }),
        distinct_id: textParameter("Only recordings of this distinct id."),
        distinct_ids: parameter(
          "Only recordings of these: a JSON list, or ids with commas between.",
          readIds,
        ),
        person_uuid: textParameter("Only recordings of this person.", { type: "string", format: "uuid" }),
        person_id: textParameter("The same as person_uuid.", { type: "string", format: "uuid" }),
        session_ids: parameter("Only these: a JSON list, or ids with commas between.", readIds),
        hide_viewed_recordings: choiceParameter(
          "Without those that the key's user (current-user or true) or anybody (any-user) has viewed.",
          viewers,
        ),
        ...conditionParameters,
        ...orderParameters,
        kind: choiceParameter("PostHog's name of such a list; no effect.", ["RecordingsQuery"]),
        ...pageParameters("Recordings"),
      },
      replies: { 200: reply("The recordings.", model.recordingsModel) },
      answer: async ({ access, project, query, url, request }) => {
        const clickhouse = readsUntil(parts.clickhouse, request.signal);
        const viewer = { project_id: project.id, user_id: access.user.id };
        const required = query.filter_test_accounts ? await testAccountFilters(sql, project.id) : [];
        const conditions = readConditions(query, required);
        const reads = toReads(clickhouse, project.id);
        if (conditions) await refuseUnsetIn(reads, conditions);
        const selection = {
          // The dates as written are the key for counts: relative dates resolve to another time in each request.
          written: JSON.stringify([url.searchParams.get("date_from"), url.searchParams.get("date_to")]),
          from: query.date_from,
          to: query.date_to,
          session_ids: query.session_ids,
          conditions,
          unviewedBy: query.hide_viewed_recordings,
          timezone: readStoredZone(project.timezone),
          order: readOrder(query.order, query.order_direction),
          ...(await readPersonFilter(reads, query)),
        };
        const reader = { ...parts, clickhouse };
        const { count, recordings } = await listPage(reader, viewer, selection, query).catch(
          (thrown: unknown) => {
            throw conditions ? filterFault(thrown, chooseAttr(conditions), "date_from and date_to") : thrown;
          },
        );
        const page = pageReply(url, query, { count, rows: recordings });
        return await slicedJson({ ...page, has_next: page.next !== null });
      },
    }),
  ];
}

type Requested = OperationRequest<"project", "/session_recordings/:id/">;

function oneOperations(parts: Counted) {
  const { sql, counts } = parts;
  const find = ({ access, project, params }: Requested) =>
    getRecording(parts, { project_id: project.id, user_id: access.user.id }, params.id);
  const findAny = ({ project, params }: Requested) => findArrived(parts, project.id, params.id);
  return [
    projectOperation("GET /session_recordings/:id/", "session_recording:read", {
      summary: "Get a session recording",
      find,
      replies: shownOne,
      answer: ({ found }) => found,
    }),
    projectOperation("GET /session_recordings/:id/viewed/", "session_recording:read", {
      summary: "Whether a session recording was viewed, and by how many others",
      find,
      replies: { 200: reply("The views.", model.viewersModel) },
      answer: async ({ access, project, found: { id, viewed } }) => ({
        viewed,
        other_viewers: await countOtherViewers(sql, project.id, access.user.id, id),
      }),
    }),
    projectOperation("PATCH /session_recordings/:id/", "session_recording:write", {
      summary: "Change a session recording",
      description: "One whose data has expired has times of 1970, and nothing is stored of it.",
      find: findAny,
      body: model.recordingBody,
      replies: shownOne,
      answer: async ({ access, project, params: { id }, found, body: { viewed } }) => {
        const viewer = { project_id: project.id, user_id: access.user.id };
        if (found.row && viewed !== undefined)
          await markViewed(sql, project.id, viewer.user_id, [id], viewed);
        return await getRecording(parts, viewer, id, found.row ?? emptyRecording(id));
      },
    }),
    projectOperation("DELETE /session_recordings/:id/", "session_recording:write", {
      summary: "Delete a session recording",
      description:
        "It is hidden at once and removed from the disk within a day; so are pieces that arrive later. For one " +
        "whose data has expired nothing is done.",
      find: findAny,
      replies: gone,
      answer: async ({ access, project, params: { id }, found }) => {
        if (found.isGone) return;
        const deleted = await deleteRecordings(parts, project.id, access.user.id, [id]);
        // Another request was faster.
        if (deleted.length === 0) throw notFound(nowhere);
        counts.forget(project.id);
      },
    }),
  ];
}

/**
 * The recording's row, or whether its pieces have arrived and are gone; neither when that cannot be determined in time.
 * @throws Fault not_found when it is deleted, or no piece of it has ever arrived.
 */
async function findArrived(parts: RecordingReaderOptions, project_id: number, id: string) {
  const { sql, clickhouse, clock } = parts;
  const row = await findRow(parts, project_id, id);
  if (row) return { row, isGone: false };
  const isStored = await recordingsStoredWithin(sql, clock, sessionRecordingLimits.recordingUnknownMsMax);
  const late = await findRow(parts, project_id, id);
  if (late || !isStored) return { row: late, isGone: false };
  if (!(await hasArrived(toReads(clickhouse, project_id), id))) throw notFound(nowhere);
  return { row: undefined, isGone: true };
}

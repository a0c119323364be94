// Session recordings, their events and their sharing in replies, and the fields that can be set.

import Type, { type Static } from "typebox";
import { flag, model, moment, nullable, strictModel, uuid } from "../http/fields/field.ts";
import { listSchema } from "../http/fields/schema.ts";
import { sessionRecordingLimits } from "./limits.ts";

const minimalPersonModel = model("MinimalPerson", {
  id: Type.Integer(),
  name: Type.String({ description: "Its e-mail address, name or username, or else its distinct id." }),
  distinct_ids: Type.String({ description: "Up to ten, with commas between." }),
  properties: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  created_at: moment({ description: "When it was first seen." }),
  uuid: uuid(),
});

export const recordingModel = model("SessionRecording", {
  id: Type.String({ description: "The session's id, as its recorder named it." }),
  distinct_id: Type.String(),
  viewed: Type.Boolean({ description: "Whether the key's user has seen it." }),
  recording_duration: Type.Integer({ description: "Seconds, from start to end." }),
  active_seconds: Type.Integer(),
  inactive_seconds: Type.Integer(),
  start_time: moment(),
  end_time: moment(),
  click_count: Type.Integer(),
  keypress_count: Type.Integer(),
  mouse_activity_count: Type.Integer(),
  console_log_count: Type.Integer(),
  console_warn_count: Type.Integer(),
  console_error_count: Type.Integer(),
  start_url: Type.String({ description: "Up to 512 characters." }),
  person: minimalPersonModel,
  storage: Type.String({ examples: ["clickhouse"] }),
  snapshot_source: Type.String({ examples: ["web", "mobile"] }),
  ongoing: Type.Boolean({ description: "Whether a piece of it arrived within the last five minutes." }),
  activity_score: Type.Number({ description: "From 0 to 100." }),
});

export const recordingsModel = model("PaginatedSessionRecordingList", {
  ...listSchema(recordingModel).properties,
  has_next: Type.Boolean({ description: "Whether `next` is there, as PostHog's console asks." }),
});

export type Recording = Static<typeof recordingModel>;
export type RecordingPerson = Static<typeof minimalPersonModel>;

/** The fields that a request may set. `person` is accepted without effect. */
export const recordingBody = strictModel(
  "SessionRecordingRequest",
  {
    person: Type.Unknown({
      description: "Accepted without effect: a recording's person follows from its distinct id.",
    }),
    viewed: flag({ description: "Whether the key's user has seen it." }),
  },
  recordingModel,
);

export const bulkBody = strictModel("SessionRecordingBulkDeleteRequest", {
  session_recording_ids: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    maxItems: sessionRecordingLimits.recordingsDeletedAtOnceMax,
  }),
});

export const viewersModel = model("SessionRecordingViewers", {
  viewed: Type.Boolean({ description: "Whether the key's user has seen it." }),
  other_viewers: Type.Integer({ description: "How many others have." }),
});

const viewedFields = { success: Type.Boolean(), total_requested: Type.Integer() };
export const matchingEventsModel = model("MatchingEvents", {
  results: Type.Array(
    model("MatchingEvent", {
      uuid: uuid(),
      timestamp: moment(),
      session_id: Type.String(),
      window_id: nullable(Type.String()),
    }),
  ),
});

export const bulkViewedModel = model("SessionRecordingBulkViewed", {
  ...viewedFields,
  viewed_count: Type.Integer(),
});
export const bulkNotViewedModel = model("SessionRecordingBulkNotViewed", {
  ...viewedFields,
  not_viewed_count: Type.Integer(),
});

export const bulkModel = model("SessionRecordingBulkDelete", {
  success: Type.Boolean(),
  deleted_count: Type.Integer(),
  total_requested: Type.Integer(),
  not_found_count: Type.Integer(),
});

/** Properties of the first events of sessions. */
export const sessionPropertiesModel = model("SessionRecordingProperties", {
  results: Type.Array(
    model("SessionRecordingPropertiesOfOne", {
      id: Type.String({ description: "The session's id." }),
      properties: Type.Record(Type.String(), Type.Unknown()),
    }),
  ),
});

/** A recording's events, in rrweb's format. */
export const snapshotsModel = model("SessionRecordingSnapshots", {
  sources: Type.Array(
    model("SessionRecordingSource", {
      source: Type.String({ examples: ["blob_v2"] }),
      start_timestamp: moment(),
      end_timestamp: moment(),
      blob_key: Type.String({ examples: ["0"] }),
    }),
    { description: "All blobs of the recording; ?source=blob_v2&blob_key= returns one as JSON lines." },
  ),
  snapshot_data_by_window_id: Type.Record(
    Type.String(),
    Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: "rrweb events, by their time." }),
  ),
  next: nullable(Type.String({ format: "uri" }), { description: "The rest of a long recording." }),
});

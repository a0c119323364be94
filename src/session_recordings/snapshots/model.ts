// What a recording's events look like in a reply. Never what is inside them: that is rrweb's.

import Type from "typebox";
import { model, moment, nullable } from "../../http/fields/field.ts";

export const snapshotsModel = model("SessionRecordingSnapshots", {
  sources: Type.Array(
    model("SessionRecordingSource", {
      source: Type.String({ examples: ["blob_v2"] }),
      start_timestamp: moment(),
      end_timestamp: moment(),
      blob_key: Type.String({ examples: ["0"] }),
    }),
    { description: "All blobs of the recording; ?source=blob_v2&blob_key= gives one as JSON lines." },
  ),
  snapshot_data_by_window_id: Type.Record(
    Type.String(),
    Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: "rrweb events, by their time." }),
  ),
  next: nullable(Type.String({ format: "uri" }), { description: "The rest of a long recording." }),
});

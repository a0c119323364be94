// What backfills look like in replies, and what one is asked by.

import Type, { type Static } from "typebox";
import { model, moment, nullable, strictModel, uuid } from "../../http/fields/field.ts";
import { linkedListSchema } from "../../http/fields/schema.ts";
import { runStatuses } from "../model.ts";

const progressModel = model("BatchExportBackfillProgress", {
  total_runs: nullable(Type.Integer({ description: "Null until the first data is known." })),
  finished_runs: Type.Integer(),
  progress: nullable(Type.Number({ description: "From 0 to 1." })),
});

export const backfillModel = model("BatchExportBackfill", {
  id: uuid(),
  team: Type.Integer(),
  batch_export: uuid(),
  start_at: nullable(moment()),
  end_at: nullable(moment()),
  status: Type.Enum(runStatuses, { type: "string" }),
  created_at: moment(),
  finished_at: nullable(moment()),
  last_updated_at: moment(),
  progress: progressModel,
});
export type Backfill = Static<typeof backfillModel>;

/** Moments are checked by the room, since they must have an offset. */
const momentShown = { type: "string", format: "date-time" };
export const backfillBody = strictModel(
  "BatchExportBackfillRequest",
  {
    start_at: nullable(Type.Unknown({ "x-shown": momentShown }), {
      default: null,
      description: "ISO 8601 with an offset; none: from the first data on.",
      examples: ["2025-01-01T00:00:00Z"],
    }),
    end_at: nullable(Type.Unknown({ "x-shown": momentShown }), {
      default: null,
      description: "Likewise, and not included; none: until now.",
      examples: ["2025-01-02T00:00:00Z"],
    }),
  },
  backfillModel,
);

export const backfillPageModel = linkedListSchema(backfillModel);

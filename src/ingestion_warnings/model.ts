// An ingestion warning in replies.

import Type from "typebox";
import { listSchema, listTitle } from "../http/fields/schema.ts";

const warningModel = Type.Object(
  {
    type: Type.String({ description: "Why the event was ignored, or what is unusual about it." }),
    event: Type.String({ description: "As the client named it; empty when it did not." }),
    distinct_id: Type.String(),
    timestamp: Type.String({ format: "date-time", description: "When the server saw it." }),
    count: Type.Integer({ description: "Events that it counts: more than 1 where not all are listed." }),
    details: Type.Record(Type.String(), Type.Unknown(), { description: "message, and what it is about." }),
  },
  {
    title: "IngestionWarning",
    examples: [
      {
        type: "missing_distinct_id",
        event: "signed up",
        distinct_id: "",
        timestamp: "2026-01-02T03:04:05.678000Z",
        count: 1,
        details: { message: "The event was ignored: it has no distinct_id.", index: 0 },
      },
    ],
  },
);

const typeModel = Type.Object(
  {
    type: Type.String(),
    count: Type.Integer({ description: "Events, listed or not." }),
    first_seen: Type.String({ format: "date-time" }),
    last_seen: Type.String({ format: "date-time" }),
  },
  {
    title: "IngestionWarningType",
    examples: [
      {
        type: "missing_distinct_id",
        count: 1,
        first_seen: "2026-01-02T03:04:05.678000Z",
        last_seen: "2026-01-02T03:04:05.678000Z",
      },
    ],
  },
);

/** A page of warnings, newest first; beside it every type that matches, with how many events it concerns. */
export const warningsModel = Type.Object(
  { ...listSchema(warningModel).properties, types: Type.Array(typeModel) },
  listTitle(warningModel),
);

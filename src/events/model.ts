// What an event looks like in a reply.

import Type from "typebox";
import { model } from "../http/fields/field.ts";

export const eventModel = model("Event", {
  id: Type.String({ format: "uuid" }),
  uuid: Type.String({ format: "uuid" }),
  event: Type.String(),
  distinct_id: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "As the client sent them." }),
  timestamp: Type.String({ format: "date-time" }),
  created_at: Type.String({ format: "date-time" }),
  person_id: Type.String({ format: "uuid" }),
  historical_migration: Type.Boolean(),
});

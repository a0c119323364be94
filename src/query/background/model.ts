// The reply about a query in the background.

import Type from "typebox";
import { integer, model, moment, nullable } from "../../http/fields/field.ts";

export const queryStatusReply = model("QueryStatusResponse", {
  query_status: model("BackgroundQueryStatus", {
    id: Type.String(),
    team_id: integer(),
    query_async: Type.Boolean(),
    complete: Type.Boolean(),
    error: Type.Boolean(),
    error_message: nullable(Type.String()),
    results: nullable(Type.Record(Type.String(), Type.Unknown()), {
      description: "Once it is complete: what the query is answered without `async`.",
    }),
    start_time: moment(),
    pickup_time: nullable(moment(), {
      description: "When it began to run: until then it waits for other queries.",
    }),
    end_time: nullable(moment()),
    expiration_time: nullable(moment(), { description: "When its result is forgotten, at the latest." }),
  }),
});

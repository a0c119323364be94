// Requests and replies of the v1 protocol, for the API's description. Bodies are not checked against it.

import Type from "typebox";
import { refusal } from "../../http/docs/refusals.ts";
import { choice, model } from "../../http/fields/field.ts";
import { reply } from "../../http/fields/schema.ts";
import { captureLimits } from "../limits.ts";

const moment = (description: string) => Type.String({ format: "date-time", description });
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const optionsModel = Type.Object(
  {
    process_person_profile: flag("`$process_person_profile`: false makes the event anonymous."),
    disable_skew_correction: flag("`$ignore_sent_at`: true keeps the timestamp as it is."),
    cookieless_mode: flag("`$cookieless_mode`."),
    product_tour_id: Type.Optional(Type.String({ description: "`$product_tour_id`." })),
  },
  {
    title: "AnalyticsEventOptions",
    description: "Each becomes the property it names; an invalid one drops the event.",
  },
);

const batchModel = model("AnalyticsEventsRequest", {
  created_at: Type.Optional(moment("When the batch was made; not used.")),
  historical_migration: Type.Optional(Type.Boolean({ examples: [false] })),
  batch: Type.Array(
    model("AnalyticsEvent", {
      event: Type.String({ examples: ["signed up"] }),
      uuid: Type.String({ format: "uuid", description: "The event's own; its result is returned under it." }),
      distinct_id: Type.String({ examples: ["user_42"] }),
      timestamp: Type.Optional(moment("The event's time; now by default.")),
      session_id: Type.Optional(Type.String({ description: "Becomes the property `$session_id`." })),
      window_id: Type.Optional(Type.String({ description: "Becomes the property `$window_id`." })),
      options: Type.Optional(optionsModel),
      properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
    { minItems: 1, maxItems: captureLimits.v1EventsMax },
  ),
});

const resultsModel = Type.Object(
  {
    results: Type.Record(
      Type.String(),
      model("AnalyticsEventResult", {
        result: choice(["ok", "warning", "drop"]),
        details: Type.Optional(Type.String({ description: "The reason, for `warning` and `drop`." })),
      }),
      { description: "By uuid, as it was sent." },
    ),
  },
  {
    title: "AnalyticsEventsResponse",
    examples: [{ results: { "018f0000-0000-7000-8000-000000000001": { result: "ok" } } }],
  },
);

function header(name: string, description: string) {
  return { name, in: "header", required: false, description, schema: { type: "string" as const } };
}

/** Operation of POST on the first of v1Paths. */
export const v1Operation = {
  tags: ["Capture"],
  security: [],
  summary: "Capture many events, answered one by one",
  description:
    "PostHog's v1 capture protocol, also at `/i/v1/ai/events`, with the project API key in " +
    "`Authorization: Bearer`. Problems of one event are returned under its uuid; a missing, invalid or repeated " +
    "uuid refuses the whole batch.",
  parameters: [
    header("PostHog-Sdk-Info", "`name/version`: the properties `$lib` and `$lib_version` of every event."),
    header("PostHog-Request-Timestamp", "The client's clock, to correct its skew."),
    header("PostHog-Request-Id", "A uuid, returned in the answer."),
  ],
  requestBody: { required: true, content: reply("", batchModel).content },
  responses: {
    200: reply("One result for each event; events that are not dropped are stored.", resultsModel),
    400: refusal(400),
    401: refusal(401),
    413: refusal(413),
    503: refusal(503),
  },
};

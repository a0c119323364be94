// Requests and replies of capture, for the API's description. Bodies are not checked against it: the scan checks bytes.

import Type, { type TSchema } from "typebox";
import { refusal } from "../http/docs/refusals.ts";
import { model } from "../http/fields/field.ts";
import { reply } from "../http/fields/schema.ts";
import { capturePaths } from "../http/sdk_path.ts";

const properties = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      "Anything. `$set`, `$set_once`, `$unset` change the person; `$groups` attaches the event to groups; " +
      "`$process_person_profile: false` makes it anonymous.",
    examples: [{ plan: "free", $set: { email: "someone@example.com" } }],
  }),
);

const timestamp = Type.Optional(
  Type.String({ format: "date-time", description: "Its time; now by default." }),
);
const uuid = Type.Optional(
  Type.String({ format: "uuid", description: "An event sent twice with the same uuid is one event." }),
);
const apiKey = Type.String({
  description: "The project API key; `token` works as well.",
  examples: ["phc_…"],
});
const eventName = Type.String({ examples: ["signed up"] });
const distinctId = Type.String({
  description: "The id of the event's person. May be in `properties` instead.",
  examples: ["user_42"],
});

const captureModel = model("CaptureRequest", {
  api_key: apiKey,
  event: eventName,
  distinct_id: distinctId,
  properties,
  timestamp,
  uuid,
});

const batchModel = model("BatchRequest", {
  api_key: apiKey,
  historical_migration: Type.Optional(
    Type.Boolean({
      description: "True for imports of history: a lane of its own, without spike detection.",
      examples: [false],
    }),
  ),
  sent_at: Type.Optional(
    Type.String({ format: "date-time", description: "The client's clock, to correct its skew." }),
  ),
  batch: Type.Array(
    model("BatchEvent", {
      event: eventName,
      distinct_id: Type.Optional(distinctId),
      properties,
      timestamp,
      uuid,
    }),
    { description: "Any number of events; the body stays under BODY_BYTES_MAX." },
  ),
});

const remarkModel = model("CaptureRemark", { index: Type.Integer(), reason: Type.String() });

const capturedModel = Type.Object(
  {
    status: Type.Literal("Ok"),
    accepted: Type.Optional(Type.Integer({ description: "With `?verbose=1`." })),
    ignored: Type.Optional(
      Type.Array(remarkModel, {
        description: "With `?verbose=1`: each ignored event, with the reason.",
      }),
    ),
    warnings: Type.Optional(
      Type.Array(remarkModel, {
        description: "With `?verbose=1`: events that were altered or lack what their kind needs.",
      }),
    ),
  },
  { title: "CaptureResponse", examples: [{ status: "Ok" }] },
);

const shared = {
  tags: ["Capture"],
  security: [],
  parameters: [
    flag("verbose", "`1` lists the events that were ignored."),
    flag("beacon", "`1` answers 204 without a body."),
  ],
  responses: {
    200: reply("Accepted: on disk before this was sent. Ignored events are no error.", capturedModel),
    400: refusal(400),
    401: refusal(401),
    413: refusal(413),
    503: refusal(503),
  },
};

function flag(name: string, description: string) {
  return {
    name,
    in: "query",
    required: false,
    description,
    schema: { type: "string" as const, enum: ["1"] },
  };
}

const olderPaths = Object.keys(capturePaths)
  .filter((path) => !["/capture", "/batch", "/s"].includes(path))
  .map((path) => `\`${path}/\``);

/** The two paths that are described; the other paths are older names of them. */
export const captureOperations: Readonly<Record<string, Record<string, unknown>>> = {
  "/capture/": {
    ...shared,
    summary: "Capture an event",
    description: `Also at ${olderPaths.join(", ").replace(/, ([^,]*)$/, " and $1")}, which accept any of these bodies.`,
    requestBody: { required: true, ...content(captureModel) },
  },
  "/batch/": {
    ...shared,
    summary: "Capture many events",
    requestBody: { required: true, ...content(batchModel) },
  },
};

function content(model: TSchema) {
  return { content: reply("", model).content };
}

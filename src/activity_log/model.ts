// Changes made through the API, in the format of PostHog's activity log.

import Type, { type Static } from "typebox";
import { model, moment, nullable } from "../http/fields/field.ts";
import { numberedListSchema } from "../http/fields/schema.ts";
import { userModel } from "../http/fields/user.ts";

const changeModel = model("ActivityChange", {
  type: Type.String({ description: "The kind of thing, as `scope`." }),
  action: Type.String({ description: "Always `changed`." }),
  field: Type.String({ description: "A field that a PATCH sent. Values are not stored." }),
});

const activityModel = model("Activity", {
  id: Type.String(),
  user: nullable(userModel, { description: "null: the user is gone." }),
  activity: Type.String({
    description: "`created`, `updated`, `deleted`, or the last word of the operation's path, e.g. `pause`.",
  }),
  scope: Type.String({ description: "The kind of thing, e.g. `Insight`." }),
  item_id: nullable(Type.String()),
  project_id: nullable(Type.Integer(), { description: "null: it concerns no single project." }),
  organization_id: Type.String({ format: "uuid" }),
  is_system: Type.Boolean({ description: "Always false: only requests are listed." }),
  was_impersonated: Type.Boolean({ description: "Always false: nobody can." }),
  detail: model("ActivityDetail", {
    changes: Type.Array(changeModel),
    key_id: Type.String({ description: "The personal key it was done with." }),
    request_id: Type.String({ description: "The `X-Request-Id` of the answer." }),
    is_complete: Type.Boolean({
      description:
        "false: it is running, or the server ended before it answered; it may or may not have been done.",
    }),
  }),
  created_at: moment(),
});

export type Activity = Static<typeof activityModel>;

export const activityLogModel = numberedListSchema(activityModel, "ActivityPage");

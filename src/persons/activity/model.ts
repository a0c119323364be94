// Changes of persons, in the format of PostHog's activity log.

import Type, { type Static } from "typebox";
import { model, moment, nullable, uuid } from "../../http/fields/field.ts";
import { numberedListSchema } from "../../http/fields/schema.ts";
import { userModel } from "../../http/fields/user.ts";

const activityModel = model("PersonActivity", {
  id: Type.String(),
  user: nullable(userModel, { description: "null: the user is gone." }),
  activity: Type.Enum(
    ["updated", "delete_property", "split_person", "deleted", "deleted_events", "deleted_recordings"],
    { type: "string" },
  ),
  scope: Type.String({ description: "Always `Person`." }),
  item_id: uuid({ description: "The person's uuid." }),
  detail: model("PersonActivityDetail", {
    name: uuid({ description: "The person's uuid." }),
    changes: Type.Array(
      model("PersonActivityChange", {
        type: Type.String(),
        action: Type.String({
          description:
            "For a deletion `erasing` while rows are being removed, or may still arrive from a journal; then `erased`.",
        }),
        field: nullable(Type.String()),
      }),
      { description: "Neither values nor distinct ids are shown: they may be those of a deleted person." },
    ),
  }),
  created_at: moment(),
});

export type PersonActivity = Static<typeof activityModel>;

export const activityPageModel = numberedListSchema(activityModel, "PersonActivityPage");

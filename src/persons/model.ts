// Persons, and the requests that change them, as the API shows them.

import Type, { type Static } from "typebox";
import { isUuid } from "../core/id.ts";
import { exactText, flag, model, moment, nullable, strictModel, uuid } from "../http/fields/field.ts";
import { formatStored } from "../http/fields/field_time.ts";
import { numberedListSchema, propertyValuesModel } from "../http/fields/schema.ts";
import { userModel } from "../http/fields/user.ts";
import { personLimits } from "./limits.ts";
import type { Person } from "./reading/fold.ts";

export const distinctIdModel = Type.String({ title: "DistinctId" });

export const personModel = model("Person", {
  id: Type.String({ format: "uuid" }),
  uuid: Type.String({ format: "uuid" }),
  name: Type.String({ description: "An e-mail address, a name, or else a distinct id." }),
  distinct_ids: Type.Array(Type.String(), {
    description:
      `The main one first, then the others in order, ${personLimits.distinctIdsShownMax} at most: ` +
      "`…/persons/:uuid/distinct_ids/` lists all.",
  }),
  distinct_ids_count: Type.Integer({ description: "All of them." }),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "The latest changed first." }),
  created_at: Type.String({ format: "date-time" }),
  last_seen_at: Type.String({
    format: "date-time",
    description: "The time of its last event, under any of its ids.",
  }),
  is_identified: Type.Boolean({ description: "True when ids were merged into it." }),
});

export const noCohortsModel = model("PersonCohorts", {
  results: Type.Array(Type.Record(Type.String(), Type.Unknown())),
});

export const personChangeBody = strictModel(
  "PersonRequest",
  {
    properties: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: "Those that are set; others stay as they are.",
    }),
  },
  personModel,
);

export const updatePropertyBody = strictModel("PersonUpdatePropertyRequest", {
  key: exactText({ description: "The property's name." }),
  value: Type.Unknown({ description: "Any JSON." }),
});

export const deletePropertyBody = strictModel("PersonDeletePropertyRequest", {
  $unset: Type.Optional(
    exactText({ description: "The name of the property that is removed; or as a parameter." }),
  ),
});

export const successModel = model("Success", { success: Type.Boolean() });

export const personValuesModel = propertyValuesModel("PersonProperty", "Persons that have it now.");

export const splitBody = strictModel("PersonSplitRequest", {
  main_distinct_id: Type.Optional(
    nullable(exactText(), {
      description:
        "The person's main distinct id, which stays, as it does by default: all others are split off.",
    }),
  ),
  distinct_ids_to_split: Type.Optional(
    nullable(Type.Array(exactText(), { minItems: 1, maxItems: personLimits.splitAtOnceMax }), {
      description: "Only these are split off. Not together with `main_distinct_id`.",
    }),
  ),
});

export type SplitBody = Static<typeof splitBody>;

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

const some = { minItems: 1, maxItems: personLimits.deletedAtOnceMax };

export const bulkDeletionBody = strictModel("PersonBulkDeleteRequest", {
  ids: Type.Optional(
    Type.Array(uuid(), { ...some, description: "Uuids of persons. Not together with `distinct_ids`." }),
  ),
  distinct_ids: Type.Optional(
    Type.Array(exactText(), {
      ...some,
      description: "Their persons, with all other distinct ids of them. Not together with `ids`.",
    }),
  ),
  delete_events: flag({ default: false, description: "Their events and sessions as well." }),
  delete_recordings: Type.Optional(
    flag({ description: "Their session recordings as well; by default as `delete_events`." }),
  ),
  keep_person: flag({
    default: false,
    description: "true: the persons stay, and only events or recordings are deleted.",
  }),
});

export type BulkDeletion = Static<typeof bulkDeletionBody>;

export const bulkDeletionModel = model("PersonBulkDeleteResponse", {
  persons_found: Type.Integer({ description: "Persons with these ids, each counted once." }),
  persons_deleted: Type.Integer({ description: "0 with `keep_person`." }),
  persons_queued_for_deletion: Type.Integer({
    description: "Always 0: no read shows them after the answer.",
  }),
  events_queued_for_deletion: Type.Boolean({
    description: "Whether events are deleted: stored ones now, and later those that are still pending.",
  }),
  recordings_queued_for_deletion: Type.Boolean({ description: "The same of session recordings." }),
  ids_not_found: Type.Array(Type.String(), { description: "Those of `ids` without a person." }),
  distinct_ids_not_found: Type.Array(Type.String(), {
    description: "Those of `distinct_ids` without a person.",
  }),
  deletion_errors: Type.Array(model("PersonDeletionError", { person_uuid: uuid() }), {
    description: "Persons that were merged into others meanwhile; they are not deleted.",
  }),
});

const batch = { maxItems: personLimits.readAtOnceMax };
export const distinctIdsBody = strictModel("PersonsOfDistinctIds", {
  distinct_ids: Type.Array(exactText(), batch),
});
export const uuidsBody = strictModel("PersonsOfUuids", { uuids: Type.Array(uuid(), batch) });
export const batchModel = model("PersonsByIds", { results: Type.Record(Type.String(), personModel) });

export const deletionStatusModel = model("PersonDeletionStatus", {
  person_uuid: uuid(),
  created_at: moment({ description: "When it was requested." }),
  status: Type.Enum(["pending", "completed"], { type: "string" }),
  delete_verified_at: nullable(moment(), { description: "Since when nothing is left." }),
});

/** A person as JSON, with the texts of its properties as they were sent. */
export function personText(person: Person): string {
  const { uuid, distinct_ids, distinct_ids_count, properties, is_identified } = person;
  const name = choosePersonName(JSON.parse(properties) as Record<string, unknown>, distinct_ids);
  const head = JSON.stringify({ id: uuid, uuid, name, distinct_ids, distinct_ids_count });
  const created_at = formatStored(person.created_at);
  const last_seen_at = formatStored(person.last_seen_at);
  const tail = JSON.stringify({ created_at, last_seen_at, is_identified });
  return `${head.slice(0, -1)},"properties":${properties},${tail.slice(1)}`;
}

/** An e-mail address or a name; else a distinct id, one that is no UUID where there is one. */
export function choosePersonName(properties: Record<string, unknown>, distinct_ids: readonly string[]) {
  for (const key of ["email", "name", "username"]) {
    const value = properties[key];
    if (typeof value === "string" && value.trim() !== "") return value;
  }
  return distinct_ids.find((id) => !isUuid(id)) ?? distinct_ids[0] ?? "";
}

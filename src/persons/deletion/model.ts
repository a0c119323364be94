// The request of a deletion of many persons, and its answer.

import Type from "typebox";
import { exactText, flag, model, strictModel, uuid } from "../../http/fields/field.ts";
import { personLimits } from "../limits.ts";

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

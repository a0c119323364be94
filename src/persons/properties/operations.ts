// Properties of persons over HTTP: their values listed, one person's changed. A change is an event like any other, sent
// by the server: `$set`, or `$delete_person_property` with `$unset`.

import { valuesQuery } from "../../http/fields/property_values.ts";
import type { Access } from "../../access/gate.ts";
import { reply } from "../../http/fields/schema.ts";
import { present } from "../../http/found.ts";
import { projectOperation } from "../../http/operation.ts";
import { readsUntil } from "../../storage/clickhouse/clickhouse.ts";
import { readsOf } from "../../storage/clickhouse/query_options.ts";
import { recordChange } from "../activity/store.ts";
import { ownPersonId } from "../identity.ts";
import { personLimits } from "../limits.ts";
import { personModel, personReply } from "../model.ts";
import { type CountedParts, mainIdOf, nobody } from "../parts.ts";
import { readPersons } from "../reading/store.ts";
import { checkChange, checkPropertyKey } from "./change.ts";
import {
  deletePropertyBody,
  personChangeBody,
  personValuesModel,
  successModel,
  updatePropertyBody,
} from "./model.ts";
import { listPersonValues } from "./values_store.ts";

const kept =
  "It is an event of the server's own, of the person's main distinct id and of this moment, and kept when it is " +
  "answered. The answer waits until the change can be read, for a few seconds at most.";

export function propertyOperations(parts: CountedParts) {
  return [
    projectOperation("GET /persons/values/", "person:read", {
      summary: "List the values of a property of persons, the most frequent ones first",
      query: valuesQuery,
      replies: { 200: reply("The twenty most frequent values.", personValuesModel) },
      answer: async ({ project, query: { key, value: search }, request }) => {
        const reads = readsOf(readsUntil(parts.clickhouse, request.signal), project.id);
        return { results: await listPersonValues(reads, key, search), refreshing: false };
      },
    }),
    projectOperation("PATCH /persons/:uuid/", "person:write", {
      summary: "Set properties of a person",
      description: kept,
      find: ({ project, params: { uuid } }) => mainIdOf(parts, project, uuid),
      body: personChangeBody,
      replies: { 200: reply("The person.", personModel) },
      answer: async ({ access, project, found: main_id, body: { properties = {} } }) => {
        checkChange(properties, "properties");
        const own = { access, project_id: project.id, main_id };
        if (Object.keys(properties).length > 0) await setProperties(parts, own, properties);
        const [person] = await readPersons(readsOf(parts.clickhouse, project.id), [main_id]);
        return personReply(present(person, nobody));
      },
    }),
    projectOperation("POST /persons/:uuid/update_property/", "person:write", {
      summary: "Set one property of a person",
      description: kept,
      find: ({ project, params: { uuid } }) => mainIdOf(parts, project, uuid),
      body: updatePropertyBody,
      replies: { 202: { description: "It is set." } },
      answer: async ({ access, project, found: main_id, body: { key, value } }) => {
        checkPropertyKey(key, "key");
        checkChange({ [key]: value }, "value");
        await setProperties(parts, { access, project_id: project.id, main_id }, { [key]: value });
      },
    }),
    projectOperation("POST /persons/:uuid/delete_property/", "person:write", {
      summary: "Remove one property of a person",
      description: kept,
      find: ({ project, params: { uuid } }) => mainIdOf(parts, project, uuid),
      body: deletePropertyBody,
      replies: { 201: reply("It is removed, or was not there.", successModel) },
      answer: async ({ access, project, found: main_id, body: { $unset } }) => {
        checkPropertyKey($unset, "$unset");
        const own = { access, project_id: project.id, main_id };
        await change(parts, own, "delete_property", "$delete_person_property", { $unset: [$unset] });
        return { success: true };
      },
    }),
  ];
}

interface Changed {
  access: Access;
  project_id: number;
  main_id: string;
}

function setProperties(parts: CountedParts, own: Changed, $set: Record<string, unknown>): Promise<void> {
  return change(parts, own, "updated", "$set", { $set });
}

async function change(
  { sql, clock, send }: CountedParts,
  { access, project_id, main_id }: Changed,
  activity: "updated" | "delete_property",
  event: string,
  properties: Record<string, unknown>,
): Promise<void> {
  const waitMsMax = personLimits.changeShownMsMax;
  await send({ project_id, event, distinct_id: main_id, properties, waitMsMax });
  await recordChange(sql, {
    project_id,
    person_id: ownPersonId(project_id, main_id),
    activity,
    user_id: access.user.id,
    key_id: access.key.id,
    at: new Date(clock.now()),
  });
}

// Properties of persons over HTTP: their values listed, one person's changed. A change is an event like any other, sent
// by the server: `$set`, or `$delete_person_property` with `$unset`.

import { refuseInput } from "../../core/fault.ts";
import { excerpt, fieldFault } from "../../http/fields/field_fault.ts";
import { textParameter } from "../../http/fields/query.ts";
import { reply, valuesQuery } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { readsUntil } from "../../storage/clickhouse/clickhouse.ts";
import { toReads } from "../../storage/clickhouse/query_options.ts";
import { type Changed, recordChange } from "../activity/store.ts";
import { personLimits } from "../limits.ts";
import * as model from "../model.ts";
import { type CountedParts, readPerson, requireMainId } from "../parts.ts";
import { listPersonValues } from "../reading/current_store.ts";

const changeDescription =
  "It is a server event of the person's main distinct id at this moment, stored when it is " +
  "answered. The answer waits until the change can be read, for a few seconds at most.";

export function propertyOperations(parts: CountedParts) {
  return [
    projectOperation("GET /persons/values/", "person:read", {
      summary: "List the values of a property of persons, most frequent first",
      query: valuesQuery,
      replies: { 200: reply("The twenty most frequent values.", model.personValuesModel) },
      answer: async ({ project, query: { key, value: search }, request }) => {
        const reads = toReads(readsUntil(parts.clickhouse, request.signal), project.id);
        return { results: await listPersonValues(reads, key, search), refreshing: false };
      },
    }),
    projectOperation("PATCH /persons/:uuid/", "person:write", {
      summary: "Set properties of a person",
      put: "Set properties of a person, as PATCH does",
      description: changeDescription,
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      body: model.personChangeBody,
      replies: { 200: reply("The person.", model.personModel) },
      answer: async ({ access, project, found: main_id, body: { properties = {} } }) => {
        checkChange(properties, "properties");
        if (Object.keys(properties).length > 0)
          await change(parts, { access, project_id: project.id, main_id }, { $set: properties });
        return await readPerson(parts, project, main_id);
      },
    }),
    projectOperation("POST /persons/:uuid/update_property/", "person:write", {
      summary: "Set one property of a person",
      description: changeDescription,
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      body: model.updatePropertyBody,
      replies: { 202: { description: "It is set." } },
      answer: async ({ access, project, found: main_id, body: { key, value } }) => {
        checkPropertyKey(key, "key");
        checkChange({ [key]: value }, "value");
        await change(parts, { access, project_id: project.id, main_id }, { $set: { [key]: value } });
      },
    }),
    projectOperation("POST /persons/:uuid/delete_property/", "person:write", {
      summary: "Remove one property of a person",
      description: changeDescription,
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      query: { $unset: textParameter("The property's name, where the body does not have it.") },
      body: model.deletePropertyBody,
      replies: { 201: reply("It is removed, or did not exist.", model.successModel) },
      answer: async ({ access, project, found: main_id, query, body }) => {
        const $unset = body.$unset ?? query.$unset;
        if ($unset === undefined) throw fieldFault("required", "This field is required.", ["$unset"]);
        checkPropertyKey($unset, "$unset");
        await change(parts, { access, project_id: project.id, main_id }, { $unset: [$unset] });
        return { success: true };
      },
    }),
  ];
}

async function change(
  { sql, clock, send }: CountedParts,
  target: Changed,
  properties: { $set: Record<string, unknown> } | { $unset: string[] },
): Promise<void> {
  const { project_id, main_id: distinct_id } = target;
  const [event, activity] =
    "$set" in properties
      ? (["$set", "updated"] as const)
      : (["$delete_person_property", "delete_property"] as const);
  await send({ project_id, event, distinct_id, properties, waitMsMax: personLimits.changeShownMsMax });
  await recordChange(sql, target, activity, clock.now());
}

/**
 * Checks before the change becomes an event: one with more or longer properties would be cut, with a warning only.
 * @throws Fault for properties that one event cannot set, or that would not be stored as they were sent.
 */
export function checkChange(properties: Record<string, unknown>, attr: string): void {
  const entries = Object.entries(properties);
  const { keysChangedMax, changeBytesMax } = personLimits;
  const refuse = (most: string) => refuseInput(`A request can set at most ${most}.`, attr, "max_length");
  if (entries.length > keysChangedMax) refuse(`${keysChangedMax} properties`);
  let bytes = 0;
  for (const [key, value] of entries) {
    checkPropertyKey(key, attr);
    bytes += Buffer.byteLength(JSON.stringify(key)) + Buffer.byteLength(writeExact(value, key, attr));
  }
  if (bytes > changeBytesMax) refuse(`${changeBytesMax} bytes of properties`);
}

/** @throws Fault for a key that no property can have. */
function checkPropertyKey(key: string, attr: string): void {
  const { keyBytesMax } = personLimits;
  if (Buffer.byteLength(JSON.stringify(key)) - 2 <= keyBytesMax) return;
  refuseInput(`A property's name can have at most ${keyBytesMax} bytes as JSON.`, attr, "max_length");
}

/** The value as JSON. Whole numbers beyond 2^53 are rounded when JSON is read: they are refused instead. */
function writeExact(value: unknown, key: string, attr: string): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (!Number.isInteger(item) || Number.isSafeInteger(item)) return item;
    return refuseInput(
      `A number in "${excerpt(key)}" is too large to be stored exactly: send it as text.`,
      attr,
    );
  });
}

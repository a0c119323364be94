// Splits of persons over HTTP.

import { excerpt, fieldFault } from "../../http/fields/field_fault.ts";
import { reply } from "../../http/fields/schema.ts";
import { notFound } from "../../http/found.ts";
import { projectOperation } from "../../http/operation.ts";
import { recordChange } from "../activity/store.ts";
import { type CountedParts, mainIdOf, nobody } from "../parts.ts";
import { successModel } from "../properties/model.ts";
import { type SplitBody, splitBody } from "./model.ts";
import { splitPerson } from "./store.ts";

export function splitOperations(parts: CountedParts) {
  return [
    projectOperation("POST /persons/:uuid/split/", "person:write", {
      summary: "Split distinct ids off a person",
      description:
        "Each becomes a person of its own, with the uuid of that id. Events belong to their distinct ids and follow " +
        "them, as do the properties that they set. The person keeps its main distinct id, and with it its uuid.",
      find: ({ project, params: { uuid } }) => mainIdOf(parts, project, uuid),
      body: splitBody,
      replies: { 201: reply("They are split off.", successModel) },
      answer: async ({ access, project, found: main_id, body }) => {
        const { sql, clickhouse, clock, counts } = parts;
        const distinct_ids = idsToSplit(main_id, body);
        const now = clock.now();
        const request = { project_id: project.id, main_id, distinct_ids };
        const { unknown, gone } = await splitPerson(sql, clickhouse, request, now * 1000);
        if (gone) throw notFound(nobody);
        if (unknown.length > 0) {
          const detail = `Not on this person: ${excerpt(unknown.join(", "))}.`;
          throw fieldFault("invalid_input", detail, ["distinct_ids_to_split"]);
        }
        counts.forget(project.id);
        await recordChange(sql, { access, project_id: project.id, main_id }, "split_person", now);
        return { success: true };
      },
    }),
  ];
}

/** Undefined for all but the main id. @throws Fault for ids that cannot be split off or stay. */
function idsToSplit(main_id: string, { main_distinct_id, distinct_ids_to_split }: SplitBody) {
  const named = "the person's main distinct id, which its uuid is of";
  if (main_distinct_id != null && distinct_ids_to_split != null) {
    const detail = "main_distinct_id cannot be combined with distinct_ids_to_split.";
    throw fieldFault("invalid_input", detail, ["main_distinct_id"]);
  }
  if (main_distinct_id != null && main_distinct_id !== main_id) {
    const detail = `Only "${excerpt(main_id)}" can stay: it is ${named}. Split off others by distinct_ids_to_split.`;
    throw fieldFault("invalid_input", detail, ["main_distinct_id"]);
  }
  if (distinct_ids_to_split?.includes(main_id)) {
    const detail = `"${excerpt(main_id)}" cannot be split off: it is ${named}. Split off the others.`;
    throw fieldFault("invalid_input", detail, ["distinct_ids_to_split"]);
  }
  return distinct_ids_to_split == null ? undefined : [...new Set(distinct_ids_to_split)];
}

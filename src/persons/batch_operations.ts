// Persons of several ids at once, over HTTP.

import { reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { slicedTexts } from "../http/pages/sliced.ts";
import { readsUntil } from "../storage/clickhouse/clickhouse.ts";
import { toReads } from "../storage/clickhouse/query_options.ts";
import * as model from "./model.ts";
import type { PersonParts } from "./parts.ts";
import type { Person } from "./reading/fold.ts";
import { findPersonMains } from "./reading/main_id_store.ts";
import { findPersons, readPersons } from "./reading/store.ts";

const replies = {
  200: reply("The persons by the ids that were sent; ids without one are absent.", model.batchModel),
};

export function batchOperations({ clickhouse }: Pick<PersonParts, "clickhouse">) {
  return [
    projectOperation("POST /persons/batch_by_distinct_ids/", "person:read", {
      summary: "Read the persons of up to 200 distinct ids",
      body: model.distinctIdsBody,
      replies,
      answer: async ({ project, body: { distinct_ids }, request }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        return await slicedTexts(writeResults(await findPersons(reads, [...new Set(distinct_ids)])));
      },
    }),
    projectOperation("POST /persons/batch_by_uuids/", "person:read", {
      summary: "Read the persons of up to 200 uuids",
      body: model.uuidsBody,
      replies,
      answer: async ({ project, body: { uuids }, request }) => {
        const reads = toReads(readsUntil(clickhouse, request.signal), project.id);
        const mains = await findPersonMains(reads, [...new Set(uuids.map((id) => id.toLowerCase()))]);
        const persons = await readPersons(reads, [...mains.values()]);
        return await slicedTexts(writeResults(new Map(persons.map((person) => [person.uuid, person]))));
      },
    }),
  ];
}

function* writeResults(persons: ReadonlyMap<string, Person>) {
  let separator = '{"results":{';
  for (const [id, person] of persons) {
    yield `${separator}${JSON.stringify(id)}:${model.personText(person)}`;
    separator = ",";
  }
  yield persons.size === 0 ? `${separator}}}` : "}}";
}

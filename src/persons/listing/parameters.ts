// The filters of a request for persons. All must match a person's current state.

import { propertiesParameter } from "../../http/fields/property_parameter.ts";
import {
  type QueryValues,
  refusedParameter,
  searchParameter,
  textParameter,
} from "../../http/fields/query.ts";
import type { Page } from "../../http/pages/page.ts";
import type { ProjectReads } from "../../storage/clickhouse/query_options.ts";
import { personKeysIn, refuseUnset } from "../../storage/events/lifted_properties.ts";
import { findMainIds } from "../reading/main_id_store.ts";
import type { PersonFilter } from "./store.ts";

export const personParameters = {
  distinct_id: textParameter("Only the person of this distinct id."),
  email: textParameter("Only persons whose property `email` is exactly this."),
  properties: propertiesParameter(
    "Only persons that match: a JSON list of property filters of type person.",
    ["person"],
  ),
  search: searchParameter(
    "Only persons with a distinct id, an e-mail address or a name that contains this text.",
  ),
  cohort: refusedParameter("There are no cohorts here: filter by properties instead."),
};

export type PersonQuery = QueryValues<typeof personParameters> & Page;

/** Undefined when all persons are listed. @throws Fault as refuseUnset(). */
export async function personFilterOf(
  reads: ProjectReads,
  { distinct_id, email, properties, search }: PersonQuery,
  moment: Pick<PersonFilter, "now" | "timezone">,
): Promise<PersonFilter | undefined> {
  await refuseUnset(reads.query, reads.project_id, personKeysIn(properties), "properties");
  const filters = [...properties];
  if (email !== undefined) filters.push({ type: "person", key: "email", operator: "exact", values: [email] });
  if (distinct_id === undefined && search === undefined && filters.length === 0) return undefined;
  const mains = distinct_id === undefined ? undefined : await findMainIds(reads, [distinct_id]);
  return { main_id: mains?.get(distinct_id!), search, properties: filters, ...moment };
}

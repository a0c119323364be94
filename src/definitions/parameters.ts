// Parameters of lists of names: names, words, orders.

import { wordsIn } from "../core/words.ts";
import { fieldFault } from "../http/fields/field_fault.ts";
import { checkChoice, checkText } from "../http/fields/field_rule.ts";
import { jsonListIn, namesParameter } from "../http/fields/list_parameters.ts";
import { flagParameter, parameter, type QueryValues } from "../http/fields/query.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { definitionQueryLimits } from "./limits.ts";
import { findNoted } from "./note_store.ts";
import type { EventOrder } from "./store.ts";

/** The words of a search. @throws Fault for too many. */
export function splitWords(search: string | undefined): string[] {
  const words = (search ?? "").split(/\s+/).filter(Boolean);
  if (words.length <= definitionQueryLimits.wordsMax) return words;
  throw fieldFault("max_length", `A search has at most ${definitionQueryLimits.wordsMax} words.`, ["search"]);
}

/** @throws Fault for more names than one request may list. */
function checkedNames(names: readonly string[], name: string): readonly string[] {
  if (names.length <= definitionQueryLimits.namesMax) return names;
  throw fieldFault("max_length", `At most ${definitionQueryLimits.namesMax} names can be listed.`, [name]);
}

/** Names with commas between them, or as a JSON list. None at all is refused: it would list nothing. */
export function commaNamesParameter(description: string) {
  const names = parameter(`${description} Or a JSON list of them.`, (query, name) => {
    if (!query.has(name)) return undefined;
    const all = query
      .getAll(name)
      .flatMap((text) => jsonListIn(text, name) ?? text.split(",").filter(Boolean));
    if (all.length === 0) throw fieldFault("blank", "This field may not be blank.", [name]);
    return checkedNames(
      all.map((item) => checkText({ minLength: 1, "x-exact": true }, item, [name])),
      name,
    );
  });
  return { ...names, repeats: true };
}

export function listedNamesParameter(description: string) {
  return namesParameter(description, definitionQueryLimits.namesMax, {});
}

const orderings = wordsIn("name created_at created_at::date last_seen_at last_seen_at::date volume_30_day");

export function orderingParameter() {
  const choices = orderings.flatMap((ordering) => [ordering, `-${ordering}`]);
  const read = (query: URLSearchParams, name: string): EventOrder[] | undefined => {
    if (!query.has(name)) return undefined;
    const all = query.getAll(name).flatMap((text) => text.split(","));
    return checkedNames(all, name).map((text) => {
      checkChoice(choices, text, [name]);
      const isDescending = text.startsWith("-");
      return { by: text.slice(isDescending ? 1 : 0) as EventOrder["by"], isDescending };
    });
  };
  const description =
    "The sort order, with commas between several names, each with `-` before it for the highest first: " +
    `${orderings.join(", ")}.`;
  return { ...parameter(description, read), repeats: true };
}

export const noteQuery = {
  exclude_hidden: flagParameter("true: without those that are hidden."),
  verified: flagParameter("true: only those that are verified."),
  tags: listedNamesParameter("Only those with one of the tags in this JSON list."),
};

/** Which definitions a list has, as far as what people say about them decides. */
export async function readNoteFilter(
  sql: Postgres,
  project_id: number,
  { exclude_hidden, verified, tags }: QueryValues<typeof noteQuery>,
) {
  const ids = await findNoted(sql, project_id, { verified, tags: tags ?? [] });
  return { ids, hiddenIds: await findNoted(sql, project_id, { hidden: exclude_hidden }) };
}

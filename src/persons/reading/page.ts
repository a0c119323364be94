// A page of persons, whatever they hold: read in one go where they are small, block by block where they are not.

import { limits } from "../../core/limits.ts";
import { personLimits } from "../limits.ts";
import { blocksOf, checkFits } from "../../http/pages/page.ts";
import { type ClickHouse, isTooBig, type QueryOptions } from "../../storage/clickhouse/clickhouse.ts";
import { keptBytes } from "./large_store.ts";
import { personQueryOptions } from "./query_options.ts";
import { findPersons, type Person, readPersons } from "./store.ts";

/** What a page may take that is read in one go. */
const wholeOptions: QueryOptions = {
  ...personQueryOptions,
  settings: {
    ...personQueryOptions.settings,
    max_memory_usage: limits.readSmallBytesMax,
    max_result_bytes: limits.pageWholeBytesMax,
  },
};

/**
 * Persons by their main ids, in that order; those that do not exist are left out.
 * @throws Fault with `limit` as its attr where their properties are longer than httpLimits.pageBytesMax.
 */
export async function* personBlocks(
  clickhouse: ClickHouse,
  project_id: number,
  mains: readonly string[],
): AsyncGenerator<Person[], void> {
  const whole = await readPersons(clickhouse, project_id, mains, undefined, wholeOptions).catch(
    (thrown: unknown) => {
      if (!isTooBig(thrown)) throw thrown;
      return undefined;
    },
  );
  if (whole) {
    yield whole;
    return;
  }
  const bytes = await keptBytes(clickhouse, project_id, mains);
  const sizeOf = (main: string) => bytes.get(main) ?? 0;
  // More than that is not shown of a person.
  checkFits(mains.map((main) => Math.min(sizeOf(main), personLimits.personBytesMax)));
  for (const block of blocksOf(mains, sizeOf)) yield await readPersons(clickhouse, project_id, block);
}

/**
 * The persons of the distinct ids on a page, by those; of some there is none.
 * @throws Fault with `limit` as its attr where their properties are longer than httpLimits.pageBytesMax.
 */
export async function findPersonsOfPage(
  clickhouse: ClickHouse,
  project_id: number,
  distinct_ids: readonly string[],
): Promise<Map<string, Person>> {
  try {
    return await findPersons(clickhouse, project_id, distinct_ids);
  } catch (thrown) {
    if (!isTooBig(thrown)) throw thrown;
  }
  const bytes = await keptBytes(clickhouse, project_id, distinct_ids);
  const sizeOf = (id: string) => bytes.get(id) ?? 0;
  checkFits(distinct_ids.map((id) => Math.min(sizeOf(id), personLimits.personBytesMax)));
  const found = new Map<string, Person>();
  for (const block of blocksOf(distinct_ids, sizeOf)) {
    for (const [id, person] of await findPersons(clickhouse, project_id, block)) found.set(id, person);
  }
  return found;
}

// Reads a page of persons: in one query when they are small, in blocks when they are large.

import { personLimits } from "../limits.ts";
import { blocksOf, checkFits } from "../../http/pages/page.ts";
import { type ClickHouse, isTooBig } from "../../storage/clickhouse/clickhouse.ts";
import { keptBytes } from "./large_store.ts";
import { wholePageOptions } from "../../storage/clickhouse/query_options.ts";
import { findPersons, type Person, readPersons } from "./store.ts";

/**
 * Persons by their main ids, in that order; ids without a person are left out.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function* personBlocks(
  clickhouse: ClickHouse,
  project_id: number,
  mains: readonly string[],
): AsyncGenerator<Person[], void> {
  const whole = await readPersons(clickhouse, project_id, mains, undefined, wholePageOptions).catch(
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
  // A reply shows at most `personBytesMax` of each person.
  checkFits(mains.map((main) => Math.min(sizeOf(main), personLimits.personBytesMax)));
  for (const block of blocksOf(mains, sizeOf)) yield await readPersons(clickhouse, project_id, block);
}

/**
 * The persons of the distinct ids on a page, by distinct id; ids without a person are absent.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
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

// Reads a page of persons: in one query when they are small, in blocks when they are large.

import { blocksOf, checkFits } from "../../http/pages/page.ts";
import { unlessTooBig } from "../../storage/clickhouse/clickhouse.ts";
import { type ProjectReads, wholePageOptions } from "../../storage/clickhouse/query_options.ts";
import { personLimits } from "../limits.ts";
import type { Person } from "./fold.ts";
import { sizesOf } from "./large_store.ts";
import { findPersons, readPersons } from "./store.ts";

/**
 * Persons by their main ids, in that order; ids without a person are left out.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function* personBlocks(
  reads: ProjectReads,
  mains: readonly string[],
): AsyncGenerator<Person[], void> {
  const whole = await unlessTooBig(readPersons(reads, mains, { options: wholePageOptions }));
  if (whole) yield whole;
  else yield* reads.clickhouse.longReads.withPermit(reads.project_id, () => blocksInTurn(reads, mains));
}

async function* blocksInTurn(reads: ProjectReads, mains: readonly string[]): AsyncGenerator<Person[], void> {
  for (const block of await fittingBlocks(reads, mains)) yield await readPersons(reads, block);
}

/**
 * The persons of the distinct ids on a page, by distinct id; ids without a person are absent.
 * @throws Fault with attr `limit` when their properties exceed httpLimits.pageBytesMax.
 */
export async function findPersonsOfPage(reads: ProjectReads, distinct_ids: readonly string[]) {
  const whole = await unlessTooBig(findPersons(reads, distinct_ids));
  if (whole) return whole;
  const found = new Map<string, Person>();
  for (const block of await fittingBlocks(reads, distinct_ids)) {
    for (const [id, person] of await findPersons(reads, block)) found.set(id, person);
  }
  return found;
}

/** @throws Fault when all of them, with at most `personBytesMax` of each, exceed a page. */
async function fittingBlocks(reads: ProjectReads, ids: readonly string[]): Promise<string[][]> {
  const bytes = await sizesOf(reads, ids);
  const sizeOf = (id: string) => bytes.get(id) ?? 0;
  checkFits(ids.map((id) => Math.min(sizeOf(id), personLimits.personBytesMax)));
  return blocksOf(ids, sizeOf);
}

// Persons as scripts read them back from ClickHouse, and a model of them to compare with.

import { expect } from "bun:test";
import { listMainIds } from "../../src/persons/reading/list_store.ts";
import { type Reading, readPersons as readMany } from "../../src/persons/reading/store.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";

export interface ReadPerson {
  distinct_ids: string[];
  properties: Record<string, unknown>;
  /** Microseconds since 1970. */
  created_at: number;
  is_identified: boolean;
}

interface StoredPerson {
  distinct_ids: string[];
  properties: string;
  created: string;
  is_identified: boolean;
}

/** By their distinct ids. */
export async function readPersons(clickhouse: ClickHouse, project_id: number): Promise<ReadPerson[]> {
  const rows = await clickhouse.query<StoredPerson>(
    `SELECT distinct_ids, properties, toUnixTimestamp64Micro(created_at) AS created, is_identified
     FROM persons WHERE project_id = {project_id:UInt32}`,
    { project_id },
  );
  const persons = rows.map(({ distinct_ids, properties, created, is_identified }) => ({
    distinct_ids: distinct_ids.toSorted(),
    properties: JSON.parse(properties) as Record<string, unknown>,
    created_at: Number(created),
    is_identified,
  }));
  expect(new Set(persons.flatMap((person) => person.distinct_ids)).size).toBe(
    persons.reduce((sum, { distinct_ids }) => sum + distinct_ids.length, 0),
  );
  return persons.toSorted(byIds);
}

/** Persons as the HTTP API reads them. */
export async function askPersons(
  clickhouse: ClickHouse,
  project_id: number,
  bounds?: Reading,
): Promise<ReadPerson[]> {
  const reads = toReads(clickhouse, project_id);
  const mains = await listMainIds(reads, { limit: 1000, offset: 0 });
  const persons = (await readMany(reads, mains, bounds)).map((person) => ({
    distinct_ids: person.distinct_ids.toSorted(),
    properties: JSON.parse(person.properties) as Record<string, unknown>,
    created_at: Date.parse(`${person.created_at.replace(" ", "T")}Z`) * 1000,
    is_identified: person.is_identified,
  }));
  return persons.toSorted(byIds);
}

export function byIds(one: ReadPerson, other: ReadPerson): number {
  return one.distinct_ids[0]! < other.distinct_ids[0]! ? -1 : 1;
}

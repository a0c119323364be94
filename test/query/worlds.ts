// Worlds of events: a project in each zone, with a sample of events of which a naive program knows the answers.

import fc from "fast-check";
import { systemClock } from "../../src/core/clock.ts";
import { createOrganization } from "../../src/organizations/store.ts";
import { createProject } from "../../src/projects/store.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { addUser } from "../support/accounts.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { openMadeStores } from "../support/stores.ts";
import { type NaiveEvent, storeEvents, zones } from "./naive.ts";

export interface World {
  zone: string;
  project_id: number;
  events: NaiveEvent[];
}

/** @param seed of the first world's events; each further world has the next. */
export async function openWorlds(someEvents: fc.Arbitrary<NaiveEvent[]>, seed: number) {
  const stores = await openMadeStores();
  const { sql, clickhouse } = stores;
  const owner_id = await addUser(sql, "ann@example.com");
  const organization_id = await createOrganization(sql, { name: "Ours", owner_id, project_name: "First" });
  const engine = openQueryEngine({ parser: noSqlParser, sql, clickhouse, clock: systemClock });
  const worlds: World[] = [];
  for (const [i, zone] of zones.entries()) {
    const { id } = await createProject(sql, { organization_id, name: zone, timezone: zone });
    const [events = []] = fc.sample(someEvents, { numRuns: 1, seed: seed + i });
    await storeEvents(stores, id, events);
    worlds.push({ zone, project_id: id, events });
  }
  return { stores, engine, worlds };
}

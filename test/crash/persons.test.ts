// kill -9 while persons change and merge, and stores that are away: persons come to what the model says.

import { expect, test } from "bun:test";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUpEach } from "../support/cleanup.ts";
import { killsOf } from "../support/kills.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { type ModelEvent, PersonModel } from "../support/person_model.ts";
import { askPersons, readPersons } from "../support/persons.ts";
import { post, projectKey, rested, type Server, startServer, storesOf, until } from "../support/server.ts";

cleanUpEach();

const kills = killsOf(3);

let seed = 7;
function random(below: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * below);
}

/** Ids of one batch, and now and then of earlier ones, so that chains form. */
function someEvents(batch: number): ModelEvent[] {
  return Array.from({ length: 12 }, (_, i) => {
    const id = `d${Math.max(0, batch - random(3))}-${random(4)}`;
    const other = `d${Math.max(0, batch - random(3))}-${random(4)}`;
    const at = Date.UTC(2024, random(2), 1, 0, batch, i);
    const uuid = crypto.randomUUID();
    const event = ["e", "e", "e", "$identify", "$create_alias", "$merge_dangerously"][random(6)]!;
    const merge =
      event === "$identify" ? { $anon_distinct_id: other } : event === "e" ? {} : { alias: other };
    const properties = {
      $set: { [`k${random(3)}`]: batch * 100 + i },
      $set_once: { first: batch * 100 + i },
      ...merge,
    };
    return { event, distinct_id: id, uuid, at, properties };
  });
}

async function send(server: Server, events: ModelEvent[]): Promise<boolean> {
  const batch = events.map(({ at, ...event }) => ({ ...event, timestamp: new Date(at).toISOString() }));
  try {
    const reply = await post(server, "/batch/", { api_key: projectKey, batch });
    await reply.arrayBuffer();
    return reply.status === 200;
  } catch {
    return false;
  }
}

/** Waits until the merges have left the journal too. */
async function settled(server: Server, stores: Stores, model: PersonModel): Promise<void> {
  await rested(server);
  const expected = model.persons().persons.filter((person) => person.is_identified);
  const ids = expected.reduce((sum, person) => sum + person.distinct_ids.length, 0);
  await until(async () => {
    const [row] = await stores.sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM merged_ids`;
    const [open] = await stores.sql<{ n: number }[]>`SELECT count(*)::integer AS n FROM merge_segments`;
    const [mirrored] = await stores.clickhouse.query<{ n: string }>(
      "SELECT count() AS n FROM merged_ids FINAL",
    );
    return row!.n >= ids && open!.n === 0 && Number(mirrored?.n) >= ids;
  });
}

test(
  "persons equal the model's through kills at any moment",
  async () => {
    const dataDir = await makeStoresFolder();
    const model = new PersonModel();
    let batch = 0;
    for (let round = 0; round < kills; round++) {
      const server = await startServer({ FLUSH_INTERVAL_MS: "40" }, dataDir);
      let stopped = false;
      const sending = (async () => {
        while (!stopped) {
          const events = someEvents(batch++);
          // What got no answer is sent again until it is taken, as clients do: in order, by the next server if need be.
          if (await send(server, events)) for (const event of events) model.tell(event);
          else return events;
        }
        return undefined;
      })();
      const goal = batch + 12 + (round % 5) * 9;
      while (batch < goal) await Bun.sleep(1);
      await server.end("SIGKILL");
      stopped = true;
      const unanswered = await sending;
      if (!unanswered) continue;
      const next = await startServer({ FLUSH_INTERVAL_MS: "40" }, dataDir);
      expect(await send(next, unanswered)).toBe(true);
      for (const event of unanswered) model.tell(event);
      // Whatever the kill left half done must be done before merges of the next round, or their order is unknown.
      await next.end("SIGKILL");
    }
    const server = await startServer({}, dataDir);
    const stores = await storesOf(server);
    await settled(server, stores, model);
    const { persons, unknowable } = model.persons();
    expect(unknowable.size).toBe(0);
    expect(persons.filter((person) => person.is_identified).length).toBeGreaterThan(3);
    expect(await readPersons(stores.clickhouse, 1)).toEqual(persons);
    expect(await askPersons(stores.clickhouse, 1)).toEqual(persons);
    expect(await server.end("SIGTERM")).toBe(0);
  },
  300_000 + kills * 60_000,
);

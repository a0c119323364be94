// What is kept of names, beside a model of what was sent: through kills at any moment, and both ways of events.

import { expect, test } from "bun:test";
import { cleanUpEach } from "../../support/cleanup.ts";
import { killsOf } from "../../support/kills.ts";
import { makeStoresFolder } from "../../support/made_stores.ts";
import { get, post, projectKey, rested, type Server, startServer } from "../../support/server.ts";

cleanUpEach();

const kills = killsOf(2);
const values: Record<string, unknown> = { String: "x", Numeric: 5, Boolean: true, DateTime: "2026-01-02" };
const types = Object.keys(values);

/** What was sent: of each name its type, and of each event how many. */
class Model {
  readonly properties = new Set<string>();
  readonly persons = new Set<string>();
  readonly events = new Map<string, number>();

  add({ event, properties }: Sent): void {
    this.events.set(event, (this.events.get(event) ?? 0) + 1);
    const { $set, ...own } = properties;
    for (const name of Object.keys(own)) this.properties.add(name);
    for (const name of Object.keys($set ?? {})) this.persons.add(name);
  }
}

interface Sent {
  event: string;
  distinct_id: string;
  uuid: string;
  properties: Record<string, unknown> & { $set?: Record<string, unknown> };
}

/** The name says the type, so that it does not matter which event comes first. */
function made(seed: number): Sent {
  const pick = (from: number) => Math.imul(seed + from, 0x9e3779b1) >>> 16;
  const named = (from: number): [string, unknown] => {
    const type = types[pick(from) % types.length]!;
    return [`${type} ${pick(from + 1) % 40}`, pick(from + 2) % 9 === 0 ? undefined : values[type]];
  };
  const own = Object.fromEntries(Array.from({ length: 1 + (pick(3) % 4) }, (_, i) => named(10 + i * 3)));
  const $set = pick(7) % 3 === 0 ? { $set: Object.fromEntries([named(50)]) } : {};
  return {
    event: `event ${pick(5) % 12}`,
    distinct_id: "d",
    uuid: crypto.randomUUID(),
    properties: { ...own, ...$set },
  };
}

/** Sends batches one after the other until the server is gone: plain ones, and some with an escape in each key. */
async function load(server: Server, round: number, sent: Model, acknowledged: Model): Promise<void> {
  for (let batch = 0; ; batch++) {
    const events = Array.from({ length: 1 + (batch % 7) }, (_, i) => made(round * 10_000 + batch * 10 + i));
    const shown = events.map((one) => JSON.parse(JSON.stringify(one)) as Sent);
    for (const event of shown) sent.add(event);
    const plain = JSON.stringify({ api_key: projectKey, batch: events });
    const body = batch % 3 === 0 ? plain.replaceAll('"event":', '"\\u0065vent":') : plain;
    const single = JSON.stringify({ ...events[0], api_key: projectKey });
    try {
      const reply = await post(
        server,
        events.length === 1 ? "/i/v0/e/" : "/batch/",
        events.length === 1 ? single : body,
      );
      if (reply.status === 200) for (const event of shown) acknowledged.add(event);
      await reply.arrayBuffer();
    } catch {
      return;
    }
  }
}

test(
  "names, types and volumes are those of a model of the events, through kills at any moment",
  async () => {
    const dataDir = await makeStoresFolder();
    const [sent, acknowledged] = [new Model(), new Model()];
    for (let round = 0; round < kills; round++) {
      const server = await startServer({ FLUSH_INTERVAL_MS: "50" }, dataDir);
      const loading = load(server, round, sent, acknowledged);
      const goal = total(acknowledged) + 150 + (round % 4) * 300;
      while (total(acknowledged) < goal) await Bun.sleep(1);
      await server.end("SIGKILL");
      await loading;
    }
    const server = await startServer({}, dataDir);
    await rested(server);
    const read = async (path: string) => {
      const reply = await get(server, `/api/projects/1/${path}`);
      return ((await reply.json()) as { results: Record<string, unknown>[] }).results;
    };
    const isBetween = (kept: Set<string>, least: Iterable<string>, most: Set<string>) => {
      expect([...least].filter((name) => !kept.has(name))).toEqual([]);
      expect([...kept].filter((name) => !most.has(name))).toEqual([]);
    };
    for (const [type, what] of [
      ["event", "properties"],
      ["person", "persons"],
    ] as const) {
      const kept = await read(`property_definitions/?type=${type}&limit=1000`);
      isBetween(new Set(kept.map((one) => String(one["name"]))), acknowledged[what], sent[what]);
      const mistyped = kept.filter(
        ({ name, property_type }) => !String(name).startsWith(String(property_type)),
      );
      expect(mistyped).toEqual([]);
    }
    const events = await read("event_definitions/?limit=1000");
    for (const { name, volume_30_day } of events) {
      const least = acknowledged.events.get(String(name)) ?? 0;
      expect(Number(volume_30_day)).toBeGreaterThanOrEqual(least);
      expect(Number(volume_30_day)).toBeLessThanOrEqual(sent.events.get(String(name))!);
    }
    isBetween(
      new Set(events.map((one) => String(one["name"]))),
      acknowledged.events.keys(),
      new Set(sent.events.keys()),
    );
  },
  (kills + 1) * 60_000,
);

function total({ events }: Model): number {
  return events.values().reduce((sum, one) => sum + one, 0);
}

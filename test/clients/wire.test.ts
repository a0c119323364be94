// SDKs that cannot run here, by one request each: what they send is replayed, and answered as they need it.
// Every fixture names where it comes from.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import LZString from "lz-string";
import { cleanUp } from "../support/cleanup.ts";
import { type ReadEvent, readEvents } from "../support/events.ts";
import { metric, rested, type Server, startServer } from "../support/server.ts";

afterAll(cleanUp);

interface Fixture {
  sdk: string;
  /** Recorded from the SDK itself, or written after its source. */
  source: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  encoding: keyof typeof encodings;
  /** The text before it was encoded. */
  body: string;
}

interface SentEvent {
  event: string;
  /** Some SDKs name it only among the properties of an alias. */
  distinct_id?: string | null;
  uuid?: string;
  properties: Record<string, unknown>;
}

/** How a text becomes a body. */
const encodings = {
  identity: (text: string) => text,
  gzip: (text: string) => Bun.gzipSync(new TextEncoder().encode(text)),
  form_base64: (text: string) => `data=${encodeURIComponent(Buffer.from(text).toString("base64"))}`,
  form_lz64: (text: string) => `data=${encodeURIComponent(LZString.compressToBase64(text))}&compression=lz64`,
};

const folder = join(import.meta.dir, "wire");
const fixtures = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .toSorted()
  .map((file): [string, Fixture] => [
    file.replace(".json", ""),
    JSON.parse(readFileSync(join(folder, file), "utf8")) as Fixture,
  ]);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
});

for (const [name, fixture] of fixtures) {
  test(`${name}: what ${fixture.sdk} sends is answered as it needs and stored once`, async () => {
    const sent = sentEvents(fixture.body);
    const received = await metric(server, "sluice_events_received_total");
    await expectAcceptable(await replay(fixture));
    expect((await metric(server, "sluice_events_received_total")) - received).toBe(sent.length);
    expect(await ignoredEvents()).toBe(0);
    await rested(server);
    for (const event of sent) {
      const found = (await eventsOf(event)).filter(({ uuid }) => uuid === (event.uuid ?? uuid).toLowerCase());
      expect(found.length).toBe(1);
      expect(found[0]?.properties).toMatchObject(event.properties);
    }
  });
}

test("a request that an SDK repeats, not having heard the answer, stores nothing twice", async () => {
  const [, fixture] = fixtures.find(([name]) => name === "go_gzip")!;
  await expectAcceptable(await replay(fixture));
  await expectAcceptable(await replay(fixture));
  await rested(server);
  for (const event of sentEvents(fixture.body)) {
    expect((await eventsOf(event)).filter(({ uuid }) => uuid === event.uuid).length).toBe(1);
  }
});

test("a historical batch keeps to its lane", async () => {
  const events = await readEvents(server, { event: "long ago" });
  expect(events.map(({ historical_migration }) => historical_migration)).toEqual([true]);
});

async function replay({ method, path, headers, encoding, body }: Fixture): Promise<Response> {
  const encoded = encodings[encoding](body);
  return await fetch(`${server.url}${path}`, { method, headers, body: encoded, redirect: "manual" });
}

/** PHP and Python take exactly 200, .NET an object whose status is a text or a number, none a redirect. */
async function expectAcceptable(response: Response): Promise<void> {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(await response.json()).toEqual({ status: "Ok" });
}

function sentEvents(body: string): SentEvent[] {
  const sent = JSON.parse(body) as { batch: SentEvent[] } | SentEvent[] | SentEvent;
  if (Array.isArray(sent)) return sent;
  return "batch" in sent ? sent.batch : [sent];
}

async function eventsOf({ event, distinct_id, properties }: SentEvent): Promise<ReadEvent[]> {
  const id = distinct_id ?? String(properties["distinct_id"]);
  return await readEvents(server, { event, distinct_id: id });
}

async function ignoredEvents(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const counts = [...text.matchAll(/^sluice_events_ignored_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

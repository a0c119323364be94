// Random sets, merges and replays, in both lanes, with lost answers and restarts in between, against the model.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { ProjectKeys } from "../../src/access/project_keys.ts";
import { openCapture, type OpenedCapture } from "../../src/capture/open.ts";
import { capture } from "../../src/capture/pipeline.ts";
import { ArenaPool, ReceivedBody } from "../../src/capture/receive/received_body.ts";
import { toBytes } from "../../src/core/bytes.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { ownPersonId } from "../../src/persons/identity.ts";
import { filterMainIds } from "../../src/persons/reading/list_store.ts";
import { finishSplits, splitPerson } from "../../src/persons/split/store.ts";
import { type ClickHouse, ClickHouseError } from "../../src/storage/clickhouse/clickhouse.ts";
import { toReads } from "../../src/storage/clickhouse/query_options.ts";
import { checkPropertyFilters } from "../../src/storage/events/property_filter.ts";
import type { Postgres } from "../../src/storage/postgres/postgres.ts";
import type { Stores } from "../../src/storage/stores.ts";
import { cleanUp } from "../support/cleanup.ts";
import { noDefinitions } from "../support/definitions.ts";
import { makeStoresFolder } from "../support/made_stores.ts";
import { type ModelEvent, PersonModel } from "../support/person_model.ts";
import { askPersons, type ReadPerson, readPersons } from "../support/persons.ts";
import { openTestStores } from "../support/stores.ts";

afterAll(cleanUp);

type Fate = "well" | "lost answer" | "failed before";

const id = fc.constantFrom(..."abcd");
const key = fc.constantFrom("p", "q", "r");
const value = fc.constantFrom<unknown>(1, 2, "x", null, [1], { a: "b" });
const object = fc.dictionary(key, value, { maxKeys: 2 });
const changes = fc.record({ $set: object, $set_once: object, $unset: fc.array(key, { maxLength: 1 }) });

const sentEvent = fc
  .tuple(
    fc.constantFrom(
      "plain",
      "plain",
      "plain",
      "personless",
      "$identify",
      "$create_alias",
      "$merge_dangerously",
    ),
    id,
    id,
    fc.nat({ max: 8 }),
    changes,
  )
  .map(([kind, distinct_id, other, time, properties]): Omit<ModelEvent, "uuid"> => {
    const event = kind.startsWith("$") ? kind : "e";
    const more =
      kind === "personless"
        ? { $process_person_profile: false }
        : kind === "$identify"
          ? { $anon_distinct_id: other }
          : { alias: other };
    // Some in another month, so that a request makes several batches.
    const at = Date.UTC(2024, time % 2, 1) + time * 1000;
    return {
      event,
      distinct_id,
      at,
      properties: { ...properties, ...(event === "e" && kind === "plain" ? {} : more) },
    };
  });

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      send: fc.array(sentEvent, { minLength: 1, maxLength: 5 }),
      historical: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ replay: fc.nat(), historical: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ split: fc.nat(), some: fc.boolean() }) },
);
const fate = fc.constantFrom<Fate>("well", "well", "well", "lost answer", "failed before");

/** A journal is registered without losses: a first start insists on its answer. */
let opening = false;

/** Stores that lose answers by plan. */
function faulty(stores: Stores, fates: Fate[]): Stores {
  const struck = async <T>(work: () => Promise<T>): Promise<T> => {
    const next = (opening ? undefined : fates.shift()) ?? "well";
    const lost = new ClickHouseError("reset", "ECONNRESET", "NETWORK");
    if (next === "failed before") throw lost;
    const done = await work();
    if (next === "lost answer") throw lost;
    return done;
  };
  const clickhouse: ClickHouse = {
    ...stores.clickhouse,
    insertNative: (...insert) => struck(() => stores.clickhouse.insertNative(...insert)),
  };
  const sql = new Proxy(stores.sql, {
    get: (target, name) =>
      name === "begin"
        ? (work: Parameters<Postgres["begin"]>[1]) => struck(() => target.begin(work))
        : (target[name as keyof Postgres] as unknown),
  });
  return { ...stores, sql, clickhouse };
}

let project = 1000;

/** Uuids in no order, and never the same for two events. */
function numbered(batch: number) {
  return (event: Omit<ModelEvent, "uuid">, i: number): ModelEvent => {
    return { ...event, uuid: ownPersonId(batch, String(i)) };
  };
}

async function open(dataDir: string, stores: Stores): Promise<OpenedCapture> {
  const nothing = () => {};
  const counts = {
    stored: nothing,
    quarantined: nothing,
    seconds: nothing,
    spiked: nothing,
    damaged: nothing,
    unarchived: nothing,
    unrecorded: nothing,
  };
  opening = true;
  const opened = await openCapture({
    dataDir,
    flushIntervalMs: 20,
    journalBytesMax: 1 << 30,
    stores,
    counts,
    clock: systemClock,
    log: silentLog,
  });
  opening = false;
  opened.startFlush();
  return opened;
}

async function send(
  opened: OpenedCapture,
  events: ModelEvent[],
  historical: boolean,
  project_id: number,
): Promise<void> {
  const batch = events.map(({ at, ...event }) => ({ ...event, timestamp: new Date(at).toISOString() }));
  const body = toBytes(JSON.stringify({ api_key: "k", historical_migration: historical, batch }));
  const keys: ProjectKeys = {
    find: () => project_id,
    admit: () => Promise.reject(new Error()),
    records: () => false,
    recordsConsole: () => false,
    cookieless: () => ({ enabled: true, timezone: "UTC" }),
    dailyEventQuota: () => Number.POSITIVE_INFINITY,
    close: () => Promise.resolve(),
  };
  const nothing = () => {};
  const counts = { received: nothing, accepted: nothing, ignored: nothing, warned: nothing };
  const {
    journal,
    book,
    parts: { groupTypes, salts, dailyQuotas },
  } = opened;
  const options = {
    journal,
    book,
    groupTypes,
    definitions: noDefinitions,
    salts,
    dailyQuotas,
    keys,
    counts,
    clock: systemClock,
    ack: "journal" as const,
  };
  const sent = {
    body: new ReceivedBody(new ArenaPool(body.length), body),
    sent_at: Number.NaN,
    allowsNameless: false,
  };
  const { accepted } = await capture(sent, { ...options, recordingRetentionDays: 1 });
  expect(accepted).toBe(events.length);
}

const filters: [filter: object, holds: (value: unknown) => boolean][] = [
  [{ operator: "exact", value: 1 }, (value) => value === 1],
  [{ operator: "is_not", value: "x" }, (value) => value !== "x"],
  [{ operator: "is_set" }, (value) => value !== undefined && value !== null],
  [{ operator: "is_not_set" }, (value) => value === undefined || value === null],
  [{ operator: "lt", value: 2 }, (value) => value === 1],
];

/** Filters find the persons who have the property now, and no others. */
async function checkFilters(
  clickhouse: ClickHouse,
  project_id: number,
  persons: readonly ReadPerson[],
  unknowable: ReadonlySet<string>,
): Promise<void> {
  for (const name of ["p", "q"]) {
    for (const [filter, holds] of filters) {
      const properties = checkPropertyFilters([{ key: name, ...filter }], "properties", {
        types: ["person"],
      });
      const question = { properties, now: 0, timezone: "UTC" };
      const { count, mains } = await filterMainIds(toReads(clickhouse, project_id), question, {
        limit: 100,
        offset: 0,
      });
      expect(mains).toHaveLength(count);
      for (const { distinct_ids, properties: own } of persons) {
        if (unknowable.has(`${distinct_ids[0]} ${name}`)) continue;
        const found = mains.filter((main) => distinct_ids.includes(main)).length;
        expect([filter, distinct_ids, own[name], found]).toEqual([
          filter,
          distinct_ids,
          own[name],
          holds(own[name]) ? 1 : 0,
        ]);
      }
    }
  }
}

test("persons equal the model's", async () => {
  const folder = await makeStoresFolder();
  const stores = await openTestStores(folder);
  let unknowables = 0;
  let splits = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.array(fate, { maxLength: 6 }),
      async (steps, fates) => {
        const project_id = project++;
        const dataDir = `${folder}/run-${project_id}`;
        const ailing = faulty(stores, [...fates]);
        const model = new PersonModel();
        const sent: ModelEvent[][] = [];
        let opened = await open(dataDir, ailing);
        for (const one of steps) {
          if ("restart" in one) {
            // Stops without flushing: what is in the journal is found again, and all of it in doubt.
            await opened.close(0);
            opened = await open(dataDir, ailing);
            model.restart();
            continue;
          }
          if ("split" in one) {
            const main = model.merged[one.split % Math.max(1, model.merged.length)];
            if (main === undefined) continue;
            // What was sent before is applied: the model has no merges that are on their way.
            await opened.close(60_000);
            const ids = one.some ? model.idsUnder(main).slice(0, 1) : undefined;
            if (ids?.length !== 0) {
              const request = { project_id, main_id: main, distinct_ids: ids };
              const outcome = await splitPerson(
                stores.sql,
                stores.clickhouse,
                request,
                systemClock.now() * 1000,
              );
              expect(outcome).toEqual({ unknown: [], gone: false });
              model.split(main, ids);
              splits++;
            }
            opened = await open(dataDir, ailing);
            model.restart();
            continue;
          }
          const events =
            "send" in one ? one.send.map(numbered(sent.length)) : sent[one.replay % Math.max(1, sent.length)];
          if (!events) continue;
          sent.push(events);
          await send(opened, events, one.historical, project_id);
          for (const event of events) model.tell(event);
        }
        await opened.close(60_000);
        await finishSplits(stores.sql, stores.clickhouse, systemClock.now() * 1000);
        const { persons, unknowable } = model.persons();
        unknowables += unknowable.size;
        const known = (read: ReadPerson[]): ReadPerson[] => {
          for (const person of read) {
            const { distinct_ids, properties } = person;
            const within = model.createdWithin(distinct_ids);
            if (within && person.created_at >= within[0] && person.created_at <= within[1])
              person.created_at = within[1];
            for (const name of Object.keys(properties))
              if (unknowable.has(`${distinct_ids[0]} ${name}`)) delete properties[name];
          }
          return read;
        };
        const read = known(await readPersons(stores.clickhouse, project_id));
        // One person at a time, folded outside the engine, is what the view shows.
        expect(known(await askPersons(stores.clickhouse, project_id))).toEqual(read);
        // So is what the engine picks of a person with more ids than are read one by one.
        const few = { idsEachMax: 1, idsMax: 1000 };
        expect(known(await askPersons(stores.clickhouse, project_id, few))).toEqual(read);
        const none = { idsEachMax: 1, idsMax: 0 };
        expect(known(await askPersons(stores.clickhouse, project_id, none))).toEqual(read);
        expect(read).toEqual(persons);
        await checkFilters(stores.clickhouse, project_id, persons, unknowable);
        const warned = await stores.clickhouse.query<{ n: string }>(
          `SELECT sum(count) AS n FROM ingestion_warnings
         WHERE project_id = {project_id:UInt32} AND type = 'cannot_merge_already_identified'`,
          { project_id },
        );
        expect(Number(warned[0]?.n)).toBeLessThanOrEqual(model.refused);
      },
    ),
    { numRuns: 25 },
  );
  expect(unknowables).toBeLessThan(25);
  expect(splits).toBeGreaterThan(0);
});

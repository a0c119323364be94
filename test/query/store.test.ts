// The time that the statements of a query share, and what the engine says of them.

import { afterAll, describe, expect, test } from "bun:test";
import type { Clock } from "../../src/core/clock.ts";
import { Fault } from "../../src/core/fault.ts";
import { openQueryEngine } from "../../src/query/engine.ts";
import { queryLimits } from "../../src/query/limits.ts";
import { Draft, openQueryRunners, type QueryContext } from "../../src/query/store.ts";
import {
  type ClickHouse,
  ClickHouseError,
  type QueryOptions,
} from "../../src/storage/clickhouse/clickhouse.ts";
import { openEngineZones } from "../../src/storage/clickhouse/zones.ts";
import { cleanUp } from "../support/cleanup.ts";
import { emptyStore, usualBounds } from "../support/query_bounds.ts";
import { noSqlParser } from "../support/sql_parser.ts";
import { storesStartMsMax } from "../support/stores.ts";

afterAll(cleanUp, storesStartMsMax);

const trend = { kind: "TrendsQuery", series: [{}] };

/** Postgres, as far as a query asks it. */
const sql = (() => Promise.resolve([{ timezone: "UTC" }])) as never;

const clock: Clock = { now: () => 0, elapsed: () => 0 };

function failing(type: string): ClickHouse {
  const query = () => Promise.reject(new ClickHouseError("Code: 1, in SELECT", "1", type));
  return { query, zones: openEngineZones(1) } as never;
}

async function faultOf(act: Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown = await act.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return thrown instanceof Fault ? [thrown.code, thrown.detail] : [thrown];
}

describe("what the engine says of a query", () => {
  const today: Clock = { ...clock, now: () => Date.UTC(2024, 4, 1) };

  const engineThat = (fails: string) =>
    openQueryEngine({
      parser: noSqlParser,
      sql,
      clickhouse: failing(fails),
      clock: today,
      store: emptyStore,
    });

  test("too heavy for its share, memory or an answer is the caller's to correct", async () => {
    for (const type of ["TOO_SLOW", "MEMORY_LIMIT_EXCEEDED", "TOO_MANY_ROWS_OR_BYTES"]) {
      const [code, detail] = await faultOf(engineThat(type).run(1, trend));
      expect([code, detail]).toEqual(["invalid_input", expect.stringContaining("Narrow it")]);
    }
  });

  test("out of time is not, since a busy store gives it less: it is refused with a time to retry", async () => {
    const thrown: unknown = await engineThat("TIMEOUT_EXCEEDED")
      .run(1, trend)
      .catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({ code: "unavailable", retryAfterSeconds: queryLimits.busyRetrySeconds });
  });

  test("that it is unavailable, or does not answer, is passed on", async () => {
    for (const type of ["NETWORK", "TIMEOUT"]) {
      const engine = openQueryEngine({
        parser: noSqlParser,
        sql,
        clickhouse: failing(type),
        clock: today,
        store: emptyStore,
      });
      const [thrown] = await faultOf(engine.run(1, trend));
      expect(thrown).toBeInstanceOf(ClickHouseError);
      expect(thrown).toHaveProperty("type", type);
    }
  });
});

test("all statements of a query share its time and its work, and none starts when one is used up", async () => {
  let elapsed = 0;
  const seconds: unknown[] = [];
  const works = new Set<unknown>();
  const clickhouse = {
    query: (_: string, __: unknown, { settings = {}, work }: QueryOptions) => {
      seconds.push(settings["max_execution_time"]);
      works.add(work);
      elapsed += 4000;
      return Promise.resolve([]);
    },
  } as never;
  const bounds = usualBounds({ seconds: 10 });
  const { run } = openQueryRunners(clickhouse, { now: () => 0, elapsed: () => elapsed }, bounds);
  for (let i = 0; i < 3; i++) await run("SELECT 1", {});
  expect(seconds).toEqual([10, 6, 2]);
  expect((await faultOf(run("SELECT 1", {})))[0]).toBe("unavailable");
  expect(seconds).toHaveLength(3);
  expect([...works]).toEqual([bounds.work]);
  elapsed = 0;
  bounds.work.seconds = bounds.work.secondsMax;
  expect((await faultOf(run("SELECT 1", {})))[0]).toBe("invalid_input");
  expect(seconds).toHaveLength(3);
});

const draftOf = () => new Draft({ project_id: 7, now: 0, timezone: "Europe/Berlin" } as QueryContext);
const filter = { type: "event", key: "plan", operator: "exact", values: ["pro"] } as never;

test("every statement is of its project and a half-open span, with names and values as parameters", () => {
  const draft = draftOf();
  const at = (text: string) => Temporal.ZonedDateTime.from(`${text}[Europe/Berlin]`);
  const text = draft.spanCondition({ from: at("2024-03-31T00:00"), to: at("2024-04-01T00:00") });
  expect(text.replaceAll(/\s+/g, " ")).toBe(
    "project_id = {project_id:UInt32} AND timestamp >= toDateTime64({from:String}, 6, 'UTC') " +
      "AND timestamp < toDateTime64({to:String}, 6, 'UTC')",
  );
  // The day on which clocks change has 23 hours.
  expect(draft.params).toEqual({
    project_id: 7,
    tz: "Europe/Berlin",
    from: "2024-03-30 23:00:00.000000",
    to: "2024-03-31 22:00:00.000000",
  });
});

test("entities of one statement have parameters of their own, and one of any event without filters is every event", () => {
  const draft = draftOf();
  const one = draft.entityCondition({ event: "paid", filters: [filter] });
  const other = draft.entityCondition({ event: "paid'", filters: [] }, [filter]);
  expect(draft.entityCondition({ event: undefined, filters: [] })).toBe("1");
  expect(draft.filterCondition([])).toBe("1");
  const namesIn = (text: string) => [...text.matchAll(/\{(\w+):/g)].map(([, name]) => name!);
  expect(namesIn(one).filter((name) => namesIn(other).includes(name))).toEqual([]);
  expect(Object.values(draft.params)).toContain("paid'");
  expect(`${one}${other}`).not.toContain("paid");
});

test("persons are joined only where something of them is asked", () => {
  const person = { type: "person", key: "plan", operator: "exact", values: ["pro"] } as never;
  expect(draftOf().eventTable([filter])).toBe("stored_events");
  expect(draftOf().eventTable([person])).toBe("events");
  expect(draftOf().eventTable([], true)).toBe("events");
});

test.each([
  [
    "hour",
    { first_second: Date.UTC(2024, 2, 3, 23) / 1000 },
    "intDiv(toUnixTimestamp(timestamp) - {first_second:Int64}, 3600)",
  ],
  ["day", { first_day: 19786 }, "(toInt32(toDate32(timestamp, {tz:String})) - {first_day:Int32})"],
  ["week", { first_day: 19786 }, "intDiv(toInt32(toDate32(timestamp, {tz:String})) - {first_day:Int32}, 7)"],
] as const)(
  "the bucket of a moment by the %s is counted from the first, in the project's zone",
  (interval, params, sql) => {
    const draft = draftOf();
    // 4 March 2024, 19,786 days after 1970 began.
    const first = Temporal.ZonedDateTime.from("2024-03-04T00:00[Europe/Berlin]");
    expect(draft.bucketIndex(interval, first)).toBe(sql);
    expect(draft.params).toMatchObject(params);
  },
);

test("a property counts as a number where it is a finite one", () => {
  const draft = draftOf();
  expect(draft.propertyNumber("price'")).toMatch(/^if\(isFinite\((.*)\), \1, NULL\)$/s);
  expect(draft.params["math_property"]).toBe("price'");
});

import { expect, test } from "bun:test";
import { mapAmplitude } from "../../../../src/cli/import/formats/amplitude.ts";
import { UuidSource } from "../../../../src/cli/import/formats/uuid_source.ts";

const rules = { nowMs: Date.UTC(2026, 0, 1), dates: "refused" } as const;

test("a device with events of nobody is joined to its first user, whichever comes first, with the same uuid in every run", () => {
  const identified = (rows: object[]) => {
    const source = new UuidSource();
    return rows.map((row) => {
      const value = {
        event_type: "e",
        event_time: "2024-02-01 10:00:00.000000",
        uuid: crypto.randomUUID(),
        ...row,
      };
      const outcome = mapAmplitude(
        {
          text: JSON.stringify(value),
          value,
          ownUuid: () => "own",
          toUuid: (text) => source.ofText(text),
          devices: source.devices,
        },
        rules,
      );
      if (outcome.is !== "rewritten") throw new Error(outcome.is);
      return outcome.before === undefined
        ? undefined
        : (JSON.parse(outcome.before) as Record<string, unknown>);
    });
  };
  const rows = [
    { device_id: "d", user_id: null },
    { device_id: "d", user_id: "u" },
    { device_id: "d", user_id: "u" },
    { device_id: "d", user_id: 7 },
    { device_id: "d", user_id: null },
    { device_id: "later", user_id: 8 },
    { device_id: "later", user_id: "u" },
    { device_id: "later", user_id: null },
    { device_id: "always", user_id: "u" },
    { user_id: "u" },
    { device_id: "u", user_id: "u" },
  ];
  const found = identified(rows);
  const pairs = found.map((event) => event && [event["distinct_id"], event["properties"]]);
  const properties = { $anon_distinct_id: "d", analytics_source: "amplitude" };
  const none = (count: number) => Array.from({ length: count }, () => undefined);
  expect(pairs).toEqual([
    undefined,
    ["u", properties],
    ...none(5),
    ["8", { ...properties, $anon_distinct_id: "later" }],
    ...none(3),
  ]);
  expect(found[1]).toMatchObject({ event: "$identify", timestamp: "2024-02-01T10:00:00.000Z" });
  expect(identified(rows).map((event) => event?.["uuid"])).toEqual(found.map((event) => event?.["uuid"]));
});

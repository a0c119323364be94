import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Converter, isTooDeep } from "../../../../src/cli/import/formats/convert.ts";
import { chooseReader, detectFileKind } from "../../../../src/cli/import/formats/detect.ts";
import { UuidSource } from "../../../../src/cli/import/formats/uuid_source.ts";
import { eventLines, fixtures } from "../setup.ts";

const nowMs = Date.UTC(2026, 0, 1);

/** What becomes of each record: its text (with its uuid in front), or why it goes nowhere. */
export function outcomesOf(text: string | Uint8Array): string[] {
  const bytes = Buffer.from(text as string);
  const kind = detectFileKind(bytes, true, "auto", "FILE");
  const [reader, converter] = [
    chooseReader(kind),
    new Converter(kind, new UuidSource(), { nowMs, dates: "refused" }),
  ];
  const outcomes: string[] = [];
  for (const records of [reader.read(bytes), reader.end()]) {
    for (const record of records) {
      const outcome = converter.convert(record);
      if (outcome?.is === "rewritten") outcomes.push(outcome.text);
      else if (outcome?.is === "verbatim") {
        const raw = record.source.toString("utf8", record.from, record.to);
        outcomes.push(outcome.uuid === undefined ? raw : `{"uuid":"${outcome.uuid}",${raw.slice(1)}`);
      } else if (outcome !== undefined) outcomes.push(`${outcome.is}: ${outcome.reason}`);
    }
  }
  return outcomes;
}

async function fixture(name: string): Promise<Record<string, unknown>[]> {
  const outcomes = outcomesOf(await Bun.file(join(fixtures, "import", name)).bytes());
  return outcomes.map((outcome) =>
    outcome.startsWith("{") ? (JSON.parse(outcome) as Record<string, unknown>) : { outcome },
  );
}

const row = '"event":"a","distinct_id":"d","timestamp":"2020-01-01T00:00:00Z"';

describe("a batch item", () => {
  test("goes as it lies, with a uuid in front", () => {
    const raw =
      '{ "event":"a", "timestamp":"2020-01-01T00:00:00+01:00", "properties":{"z":1.0,"a":1e5, "b":[ ]} }';
    const [outcome] = outcomesOf(raw);
    expect(outcome).toEndWith(raw.slice(1));
    expect(JSON.parse(outcome!)).toMatchObject({
      uuid: Bun.randomUUIDv5(raw, "5b1f7d0e-3c0a-5d4f-9a6c-8e2b7f41d905"),
    });
  });

  test("with a uuid goes untouched", () => {
    const raw = `{"uuid":"0188F0A0-0000-7000-8000-000000000001",${row}}`;
    expect(outcomesOf(raw)).toEqual([raw]);
  });

  test("gets a uuid instead of one that names nothing", () => {
    for (const uuid of ["null", '""', '"x"', "7", '"00000000-0000-0000-0000-000000000000"']) {
      const made = JSON.parse(outcomesOf(`{"uuid":${uuid},${row}}`)[0]!) as Record<string, unknown>;
      expect(made["uuid"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/);
      expect(made["event"]).toBe("a");
    }
    const bare = outcomesOf(`{${row},"uuid":"0188f0a0000070008000000000000001"}`)[0]!;
    expect(bare).toBe(
      '{"uuid":"0188f0a0-0000-7000-8000-000000000001","timestamp":"2020-01-01T00:00:00Z",' +
        '"event":"a","distinct_id":"d"}',
    );
  });

  test("keeps its properties' bytes when something else has to be repaired", () => {
    const properties = '{ "n": 1.0, "big":12345678901234567890, "e" : 1e5 }';
    const [outcome] = outcomesOf(
      `{"event":"a","timestamp":1577836800,"offset":500,"properties": ${properties} }`,
    );
    expect(outcome).toEndWith(
      `"timestamp":"2020-01-01T00:00:00.000Z","event":"a","properties":${properties}}`,
    );
    expect(outcome).not.toContain("offset");
  });

  test("is rejected when the server would give it another time", () => {
    expect(outcomesOf('{"event":"a"}')).toEqual(["rejected: no timestamp"]);
    expect(outcomesOf('{"event":"a","timestamp":null}')).toEqual(["rejected: no timestamp"]);
    expect(outcomesOf('{"event":"a","timestamp":"soon"}')).toEqual([
      'rejected: cannot read the timestamp "soon"',
    ]);
    const future = '{"event":"a","timestamp":"2026-01-02T00:00:00Z"}';
    expect(outcomesOf(future)).toEqual(["rejected: the timestamp lies in the future"]);
    expect(outcomesOf(future.replace("2026", "1899"))).toEqual(["rejected: the timestamp lies before 1900"]);
    expect(outcomesOf(future.replace("02T", "01T"))[0]).toStartWith('{"uuid"');
  });

  test("is rejected when it is none", () => {
    const outcomes = outcomesOf(`{${row}}\n{"a":\n[1]\n7\n{${row}} x\n`);
    expect(outcomes[1]).toStartWith("rejected: not JSON: ");
    expect(outcomes.slice(2, 4)).toEqual(["rejected: not a JSON object", "rejected: not a JSON object"]);
    expect(outcomes[4]).toStartWith("rejected: not JSON: ");
  });

  // microsoft/ApplicationInsights-JS#2132, PostHog/posthog#12799: Python and pandas write NaN.
  test("is sent with what the server repairs: bytes that are not UTF-8, NaN and infinities", () => {
    const bytes = Buffer.from(`{${row},"x":"??"}\n{${row},"x":"\ufffd"}\n{${row},"x":[NaN,-Infinity]}\n`);
    bytes.write("\xe9", bytes.indexOf("??"), "latin1");
    expect(outcomesOf(bytes).map((outcome) => outcome.slice(0, 9))).toEqual(Array(3).fill('{"uuid":"'));
    expect(outcomesOf(`{${row},"x":nan}\n{${row},"x":NaN`)).toEqual([
      expect.stringMatching(/^rejected: not JSON/),
      expect.stringMatching(/^rejected: not JSON/),
    ]);
  });

  test("is rejected when it is nested deeper than the server reads", () => {
    const nested = (depth: number): string =>
      `{${row},"properties":{"x":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
    expect(outcomesOf(nested(118))[0]).toStartWith('{"uuid"');
    expect(outcomesOf(nested(119))).toEqual(["rejected: nested deeper than 120"]);
    expect(isTooDeep(JSON.stringify({ a: "[".repeat(500), b: Array.from({ length: 300 }, () => []) }))).toBe(
      false,
    );
  });
});

describe("an export of PostHog", () => {
  test("keeps uuids, properties to the byte, and what was known of the person", async () => {
    const lines = outcomesOf(await Bun.file(join(fixtures, "import/posthog.jsonl")).bytes());
    expect(lines[0]).toBe(
      '{"uuid":"0188f0a0-0000-7000-8000-000000000001","event":"$pageview","distinct_id":"ada",' +
        '"timestamp":"2023-06-01T10:00:00.123456Z",' +
        '"properties":{"$current_url": "https://example.com/", "n": 1.0, "e": 1e5, ' +
        '"big": 12345678901234567890},' +
        '"$set":{"email":"ada@example.com"}}',
    );
    expect(lines[1]).toContain('"properties":{"$elements_chain":"a:text=\\"Buy\\"","a": [1.0, "x\\ny"]}');
    expect(lines[1]).toEndWith('"$set":{"plan":"pro"}}');
    expect(lines[2]).toBe("rejected: properties are neither an object nor its JSON text");
  });
});

describe("an export of Mixpanel", () => {
  test("keeps values as written, renames what has a usual name, drops what is Mixpanel's own", async () => {
    const [signedUp] = outcomesOf(await Bun.file(join(fixtures, "import/mixpanel.jsonl")).bytes());
    expect(signedUp!.slice(46)).toBe(
      ',"event":"Signed up","distinct_id":"ada","timestamp":"2020-10-13T17:48:31.000Z","properties":{' +
        '"plan":"pro","price":1.50,"big":12345678901234567890,"$geoip_city_name":"Paris",' +
        '"$geoip_subdivision_1_name":"Île-de-France","$geoip_country_code":"FR","$lib":"web",' +
        '"$geoip_country_name":"France","analytics_source":"mixpanel"}}',
    );
  });

  test("connects ids", async () => {
    const rows = await fixture("mixpanel.jsonl");
    expect(rows[1]).toMatchObject({
      event: "$pageview",
      distinct_id: "anon-7",
      timestamp: "2020-10-13T17:48:32.345Z",
    });
    expect(rows[2]).toMatchObject({
      event: "$identify",
      distinct_id: "ada",
      properties: { $anon_distinct_id: "anon-7" },
    });
    expect(rows[3]).toMatchObject({
      event: "$merge_dangerously",
      distinct_id: "ada",
      properties: { alias: "ada@example.com" },
    });
    expect(rows[4]).toEqual({ outcome: "rejected: no timestamp" });
    expect(rows[5]).not.toHaveProperty("distinct_id");
  });

  // mixpanel/mixpanel-react-native#196: $distinct_id_before_identity goes with ids of users, too.
  test("keeps an event with its user, whatever the id looks like", () => {
    const distinctId = (properties: object): unknown => {
      const [outcome] = outcomesOf(
        JSON.stringify({ event: "e", properties: { time: 1_706_781_600, ...properties } }),
      );
      return (JSON.parse(outcome!) as Record<string, unknown>)["distinct_id"];
    };
    const before = { $distinct_id_before_identity: "$device:x" };
    for (const id of ["12345", "01HVMABCDEFGHJKMNPQRS", "ACME-042", "ada@example.com"])
      expect(distinctId({ distinct_id: id, $user_id: id, ...before })).toBe(id);
    expect(distinctId({ distinct_id: "0A1B-2C", ...before })).toBe("$device:x");
    expect(distinctId({ distinct_id: "$device:y", $user_id: "ada", ...before })).toBe("$device:x");
  });

  test("gives events with the same $insert_id the same uuid", async () => {
    const line = (await Bun.file(join(fixtures, "import/mixpanel.jsonl")).text()).split("\n")[0]!;
    const [first, second, third] = outcomesOf(
      [line, line.replace('"pro"', '"free"'), line.replace("ins-1", "x")].join("\n"),
    );
    expect(first!.slice(0, 46)).toBe(second!.slice(0, 46));
    expect(first!.slice(0, 46)).not.toBe(third!.slice(0, 46));
  });
});

describe("an export of Amplitude", () => {
  test("becomes events", async () => {
    const rows = await fixture("amplitude.jsonl");
    expect(rows[0]).toEqual({
      uuid: "2f0c1f8e-5b1c-4a53-9a3e-0c7a2f1f6b10",
      event: "$pageview",
      distinct_id: "ada",
      timestamp: "2023-10-15T14:30:00.123Z",
      properties: {
        "[Amplitude] Page URL": "https://example.com/a",
        "[Amplitude] Page Path": "/a",
        score: 1,
        $current_url: "https://example.com/a",
        $pathname: "/a",
        $amplitude_user_id: "ada",
        $amplitude_device_id: "d-1",
        $amplitude_session_id: 1697380200000,
        // A UUIDv7 of the session's start, the same for all its events.
        $session_id: expect.stringMatching(/^018b33be-6e40-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        $amplitude_event_id: 12,
        $geoip_country_name: "France",
        $geoip_subdivision_1_name: "IDF",
        $geoip_city_name: "Paris",
        $ip: "192.0.2.7",
        $browser_language: "French",
        $device_id: "d-1",
        $browser: "Chrome",
        $browser_version: "118",
        $os: "Windows",
        $device_type: "Desktop",
        $groups: { company: "acme" },
        $set: { plan: "pro" },
        $set_once: { $initial_utm_source: "news" },
        analytics_source: "amplitude",
      },
    });
    expect(rows[1]).toEqual({ outcome: "skipped: Amplitude's session_start" });
    expect(rows[2]).toMatchObject({
      event: "bought",
      distinct_id: "d-1",
      properties: { $os: "ios", $device_type: "Mobile" },
    });
    expect(rows[2]).not.toHaveProperty("properties.$amplitude_session_id");
    expect(rows[2]).not.toHaveProperty("properties.$session_id");
    const group = { $group_type: "company", $group_key: "acme", $group_set: { seats: 12 } };
    expect(rows[3]).toMatchObject({ event: "$groupidentify", properties: group });
    expect(rows[4]).toEqual({ outcome: 'rejected: cannot read the timestamp "yesterday"' });
  });
});

describe("an export of Segment", () => {
  test("becomes events", async () => {
    const rows = await fixture("segment.jsonl");
    expect(rows[0]).toMatchObject({
      event: "Order Completed",
      distinct_id: "ada",
      timestamp: "2023-05-01T10:00:00.000Z",
      properties: {
        total: 10,
        $current_url: "https://shop.example/checkout",
        $pathname: "/checkout",
        $ip: "192.0.2.1",
        $os: "iOS",
        utm_source: "news",
        utm_campaign: "spring",
        $lib: "analytics.js",
        $groups: { segment_group: "acme" },
      },
    });
    const identify = { $set: { email: "ada@example.com", age: 36 }, $anon_distinct_id: "anon-1" };
    expect(rows[1]).toMatchObject({ event: "$identify", distinct_id: "ada", properties: identify });
    const page = { name: "Home", $current_url: "https://shop.example/", $pathname: "/" };
    expect(rows[2]).toMatchObject({ event: "$pageview", distinct_id: "anon-1", properties: page });
    expect(rows[3]).toMatchObject({ event: "$screen", properties: { $screen_name: "Inbox" } });
    const group = {
      $group_type: "segment_group",
      $group_key: "acme",
      $group_set: { name: "Acme", seats: 12 },
    };
    expect(rows[4]).toMatchObject({ event: "$groupidentify", properties: group });
    expect(rows[5]).toMatchObject({
      event: "$create_alias",
      distinct_id: "anon-1",
      properties: { alias: "ada" },
    });
    expect(rows[6]).toEqual({ outcome: "rejected: a track call without event" });
  });
});

describe("CSV", () => {
  test("becomes events whose other columns are properties", async () => {
    const text = await Bun.file(join(fixtures, "import/events.csv")).text();
    const outcomes = outcomesOf(text);
    expect(outcomes[0]!.slice(46)).toBe(
      ',"event":"signed up","distinct_id":"ada","timestamp":"2024-01-02T03:04:05Z",' +
        '"properties":{"note":"two\\r\\nlines, and \\"quotes\\"","n": 1.0, "plan": "pro"}}',
    );
    expect(outcomes.slice(1)).toEqual([
      '{"uuid":"0188f0a0-0000-7000-8000-000000000009","event":"logged in","distinct_id":"grace",' +
        '"timestamp":"2024-01-02T03:04:06.000Z","properties":{}}',
      "rejected: 2 fields, but the header has 7",
      "rejected: no timestamp",
    ]);
  });

  // PostHog/posthog#922, #9113: lists of events are exported as CSV, and come back.
  test("the API's own comes back with its properties under their names and types", () => {
    const header =
      "id,uuid,event,distinct_id,timestamp,created_at,person_id,properties.plan,properties.cart,properties.n";
    const row = "x,0188f0a0-0000-7000-8000-000000000009,paid,ada,2024-01-02T03:04:06Z,2024,y";
    const [first, second] = outcomesOf(
      `${header}\n${row},free,"{""items"":2}",12345678901234567890\n${row},'=1+1,,00123\n`,
    );
    expect(first).toEndWith('"properties":{"plan":"free","cart":{"items":2},"n":12345678901234567890}}');
    expect(second).toEndWith('"properties":{"plan":"=1+1","n":"00123"}}');
  });

  // PostHog's test of its CSV of events: the columns on its page, and behind `*.` the events themselves.
  test("the one of PostHog's page is read from its columns of whole events", () => {
    const header = "event,person,*.uuid,*.event,*.distinct_id,*.timestamp,*.team_id,*.elements_chain";
    const uuid = "0188f0a0-0000-7000-8000-000000000009";
    const row = `paid,Ada,${uuid},paid,ada,2024-01-02T03:04:06.000000Z,1,`;
    const properties = ",*.properties.plan,*.properties.n";
    expect(outcomesOf(`${header}${properties}\n${row},free,5\n`)).toEqual([
      `{"uuid":"${uuid}","event":"paid","distinct_id":"ada","timestamp":"2024-01-02T03:04:06.000000Z",` +
        '"properties":{"plan":"free","n":5}}',
    ]);
    expect(outcomesOf(`${header}\n${row}\n`)[0]).toEndWith('"properties":{}}');
  });

  test("rows that are equal under another header are other events", () => {
    const rowText = "a,d,2024-01-01,x\n";
    const [first] = outcomesOf(`event,distinct_id,timestamp,plan\n${rowText}`);
    const [second] = outcomesOf(`event,distinct_id,timestamp,tier\n${rowText}`);
    expect(first!.slice(0, 46)).not.toBe(second!.slice(0, 46));
  });
});

test("equal lines are different events, and the same ones in every run", () => {
  const lines = eventLines(1).repeat(3);
  const outcomes = outcomesOf(lines);
  expect(new Set(outcomes).size).toBe(3);
  expect(outcomesOf(lines)).toEqual(outcomes);
});

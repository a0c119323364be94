import { afterAll, expect, test } from "bun:test";
import { mayHaveCookieless } from "../../../src/capture/cookieless/visit.ts";
import { captureLimits } from "../../../src/capture/limits.ts";
import { type Desk, type DeskOptions, key, openDesk } from "../../support/capture.ts";
import { cleanUp } from "../../support/cleanup.ts";
import type { NativeRow } from "../../support/native_rows.ts";
import { keptSalts, saltsOf } from "../../support/salts.ts";

afterAll(cleanUp);

const noon = Date.parse("2026-03-05T12:00:00Z");
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const source = keptSalts();

function clockAt(at: number) {
  const clock = { at, now: () => clock.at, elapsed: () => clock.at };
  return clock;
}

/** A capture context whose requests come from `address`, at a moment, with salts that all contexts share. */
async function visited(options: DeskOptions & { at?: number; address?: string } = {}): Promise<Desk> {
  const clock = clockAt(options.at ?? noon);
  const { address = "203.0.113.7" } = options;
  const salts = await saltsOf(source, clock);
  return openDesk({ clock, salts, addressOf: () => address, ...options });
}

/** As posthog-js sends it. */
function visit(properties: object = {}, more: object = {}): object {
  return {
    event: "viewed",
    properties: {
      distinct_id: "$posthog_cookieless",
      $device_id: null,
      $host: "www.example.com",
      $raw_user_agent: firefox,
      $timezone: "Europe/Paris",
      $cookieless_mode: true,
      ...properties,
    },
    timestamp: new Date(noon).toISOString(),
    ...more,
  };
}

async function rowsOf(desk: Desk, ...batch: object[]): Promise<NativeRow[]> {
  const sent = await desk.send("/batch", { api_key: key, batch });
  expect(sent.status).toBe(200);
  await desk.kept();
  return desk.rows();
}

async function idOf(desk: Desk, event: object): Promise<string> {
  const rows = await rowsOf(desk, event);
  return String(rows.at(-1)?.["distinct_id"]);
}

test("a visitor without a cookie has one id a day, and others have others", async () => {
  const first = await idOf(await visited(), visit());
  expect(first).toMatch(/^cookieless_[A-Za-z0-9+/]{22}$/);
  const same = [
    visit({ $host: "shop.example.com" }),
    visit({ other: 1 }, { event: "bought", timestamp: "2026-03-05T22:59:59Z" }),
    visit({ $host: "EXAMPLE.com" }),
    visit({ distinct_id: "known here", $ip: "203.0.113.7" }),
    visit({ $cookieless_mode: undefined }),
  ];
  for (const event of same) expect([event, await idOf(await visited(), event)]).toEqual([event, first]);
  const others = [
    await idOf(await visited({ address: "203.0.113.8" }), visit()),
    await idOf(await visited(), visit({ $ip: "203.0.113.9" })),
    await idOf(await visited(), visit({ $raw_user_agent: `${firefox} ` + "x" })),
    await idOf(await visited(), visit({ $host: "www.example.org" })),
    await idOf(await visited(), visit({ $host: "www.example.com:8080" })),
    await idOf(await visited(), visit({ $cookieless_extra: "one" })),
    await idOf(await visited(), visit({}, { timestamp: "2026-03-04T12:00:00Z" })),
    await idOf(await visited(), visit({ $timezone: "Pacific/Kiritimati" })),
  ];
  expect(new Set([first, ...others]).size).toBe(others.length + 1);
});

test("of $cookieless_extra a hundred characters count, and texts next to each other do not run together", async () => {
  const of = async (properties: object) => await idOf(await visited(), visit(properties));
  const extra = "x".repeat(captureLimits.cookielessExtraCharsMax);
  expect(await of({ $cookieless_extra: `${extra}a` })).toBe(await of({ $cookieless_extra: `${extra}b` }));
  const left = await of({ $host: "a.de", $raw_user_agent: 'ua","b', $cookieless_extra: "c" });
  expect(left).not.toBe(await of({ $host: "a.de", $raw_user_agent: "ua", $cookieless_extra: 'b","c' }));
});

test("another project, and another day, make another id of the same visitor", async () => {
  const desk = await visited({ projects: { phc_other_key: 8 } });
  await desk.send("/batch", { api_key: "phc_other_key", batch: [visit()] });
  const rows = await rowsOf(desk, visit());
  expect(new Set(rows.map((row) => row["distinct_id"])).size).toBe(2);
  const next = await visited({ at: noon + 24 * 3_600_000 });
  const tomorrow = await idOf(next, visit({}, { timestamp: "2026-03-06T12:00:00Z" }));
  expect(rows.map((row) => row["distinct_id"])).not.toContain(tomorrow);
  // The day is the event's: what comes late has its own day's id.
  expect(await idOf(next, visit())).toBe(String(rows.at(-1)?.["distinct_id"]));
});

test("the day is that of the event's zone, else of the project's, else of UTC", async () => {
  const late = { timestamp: "2026-03-05T11:30:00Z" };
  const idIn = async (timezone: string, properties: object) =>
    await idOf(await visited({ cookieless: { timezone } }), visit(properties, late));
  const here = await idIn("UTC", { $timezone: "UTC" });
  const east = await idIn("UTC", { $timezone: "Pacific/Auckland" });
  expect(east).not.toBe(here);
  for (const $timezone of [undefined, "", "Nowhere/Town", 7, null, "+13:00"]) {
    expect(await idIn("UTC", { $timezone })).toBe(here);
    expect(await idIn("Pacific/Auckland", { $timezone })).toBe(east);
  }
});

test("a day's session is one, a UUIDv7 of when the day began, and its device is told from its visitor", async () => {
  const desk = await visited();
  const rows = await rowsOf(
    desk,
    visit({}, { timestamp: "2026-03-04T23:00:00Z" }),
    visit({}, { timestamp: "2026-03-05T11:59:00Z" }),
  );
  const [one, two] = rows.map((row) => JSON.parse(String(row["properties"])) as Record<string, string>);
  expect(one).toEqual(two!);
  const { $session_id, $device_id, $distinct_id, distinct_id } = one!;
  expect($session_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Date(Number.parseInt($session_id!.replace("-", "").slice(0, 12), 16)).toISOString()).toBe(
    "2026-03-04T23:00:00.000Z",
  );
  expect([distinct_id, $distinct_id]).toEqual([rows[0]!["distinct_id"], rows[0]!["distinct_id"]] as string[]);
  expect($device_id).toBe(distinct_id!.replace("cookieless_", "cookielessd_"));
});

test("user agent and address are taken out of what is stored, however they are spelled; all else stays byte by byte", async () => {
  const desk = await visited();
  const properties =
    `{ "$ip" : "203.0.113.50", "a":{"$ip":"kept", "n":1.50},"$raw_user_agent":"not the last",` +
    `"$raw\\u005fuser_agent" :"${firefox}","$cookieless_extra":"x\\"}{" ,"$host":"example.com","\\u0024ip":"203.0.113.51",` +
    `"$session_id":"theirs","$cookieless_mode":true,"$device_id":null,"$distinct_id":"theirs","distinct_id":"theirs",` +
    `"$set":{"$raw_user_agent":"${firefox}","plan" : "free","$initial_ip":1},` +
    `"$set_once":{ "$initial_raw_user_agent":"${firefox}" },"$groups":{"company":"c"},"ä":"\\ud83d\\udeb2"}`;
  const own = `"$set":{"$ip":"203.0.113.50","age":7},"$set_once":{"$ip":"x","first":[1]},"ip":"203.0.113.50"`;
  const body = `{"api_key":"${key}","batch":[{"event":"e","batch":[],${own},"properties":${properties}}]}`;
  expect((await desk.send("/batch", body)).status).toBe(200);
  await desk.kept();
  const [row] = desk.rows();
  const id = String(row?.["distinct_id"]);
  const session = /"\$session_id":"([^"]{36})"/.exec(String(row?.["properties"]))?.[1];
  expect(id).toStartWith("cookieless_");
  expect(String(row?.["properties"])).toBe(
    `{"a":{"$ip":"kept", "n":1.50},"$host":"example.com","$cookieless_mode":true,"distinct_id":"${id}",` +
      `"$set":{"plan":"free","age":7},"$set_once":{"first":[1]},"$groups":{"company":"c"},"ä":"\\ud83d\\udeb2",` +
      `"$distinct_id":"${id}","$device_id":"${id.replace("_", "d_")}","$session_id":"${session}"}`,
  );
  expect(row?.["pk"]).toEqual(["first", "plan", "age"]);
  const kept = new TextDecoder().decode(Buffer.from(JSON.stringify(desk.rows())));
  expect(kept).not.toContain("Firefox");
  expect(kept).not.toContain("203.0.113");
});

for (const [reason, event, options] of [
  ["cookieless_missing_user_agent", visit({ $raw_user_agent: undefined }), {}],
  ["cookieless_missing_user_agent", visit({ $raw_user_agent: " " }), {}],
  ["cookieless_missing_user_agent", visit({ $raw_user_agent: 7 }), {}],
  ["cookieless_missing_ip", visit(), { addressOf: () => undefined }],
  ["cookieless_missing_host", visit({ $host: undefined }), {}],
  ["cookieless_missing_host", visit({ $host: "x".repeat(300) }), {}],
  ["cookieless_timestamp_out_of_range", visit({}, { timestamp: "2026-03-01T12:00:00Z" }), {}],
  ["cookieless_timestamp_out_of_range", visit({}, { timestamp: "1999-03-01T12:00:00Z" }), {}],
  [
    "cookieless_timestamp_out_of_range",
    visit({ $timezone: "Pacific/Kiritimati" }, { timestamp: "2026-03-06T10:30:00Z" }),
    {},
  ],
  ["cookieless_unsupported_event", visit({ alias: "alice" }, { event: "$create_alias" }), {}],
  ["cookieless_unsupported_event", visit({ alias: "alice" }, { event: "$merge_dangerously" }), {}],
  [
    "cookieless_stateless_no_identify",
    visit({ distinct_id: "alice", $anon_distinct_id: "$posthog_cookieless" }, { event: "$identify" }),
    {},
  ],
  [
    "cookieless_stateless_no_identify",
    visit({ $cookieless_mode: undefined, $set: { a: 1 } }, { event: "$identify" }),
    {},
  ],
  ["cookieless_team_disabled", visit(), { cookieless: { enabled: false } }],
  ["invalid_cookieless_mode", visit({ $cookieless_mode: "yes" }), {}],
  ["invalid_cookieless_mode", visit({ $cookieless_mode: 1, distinct_id: "alice" }), {}],
] as const) {
  test(`${reason}: ${JSON.stringify(event).slice(0, 300)} is ignored, counted and listed, and the rest is kept`, async () => {
    const desk = await visited(options);
    const plain = { event: "plain", distinct_id: "bob", properties: { $cookieless_mode: false } };
    const reply = await desk.send("/batch?verbose=1", { api_key: key, batch: [plain, event, plain] });
    expect((await reply.json()) as object).toMatchObject({ accepted: 2, ignored: [{ index: 1, reason }] });
    expect(desk.counts).toMatchObject({ received: 3, accepted: 2, ignored: 1, [reason]: 1 });
    const kept = await desk.kept();
    expect([kept["live"], kept["warnings"]]).toEqual([2, 1]);
    expect(desk.rows().map((row) => row["distinct_id"])).toEqual(["bob", "bob"]);
    expect(desk.journal.merging.openRows).toBe(0);
  });
}

test("the same event alone, in a list, short, long, or in a body of thousands has the same id", async () => {
  const first = await idOf(await visited(), visit());
  const desk = await visited({ bodyBytesMax: 4 << 20 });
  for (const path of ["/e", "/capture/", "/i/v0/e"]) await desk.send(path, { api_key: key, ...visit() });
  await desk.send("/e", [visit({ token: key }), visit({ token: key })]);
  const batch = Array.from({ length: 2000 }, (_, i) =>
    i % 2 === 0 ? visit({ i }) : { event: "plain", distinct_id: `bob ${i}`, properties: { i } },
  );
  await desk.send("/batch", { api_key: key, batch });
  await desk.send("/e", { api_key: key, ...visit({ filling: "x".repeat(300_000) }) });
  await desk.kept();
  const rows = desk.rows();
  expect(rows).toHaveLength(3 + 2 + 2000 + 1);
  const visits = rows.filter((row) => !String(row["distinct_id"]).startsWith("bob "));
  expect(new Set(visits.map((row) => row["distinct_id"]))).toEqual(new Set([first]));
  expect(desk.counts).toMatchObject({ received: 2006, accepted: 2006, ignored: 0 });
});

test("without a day's salt a request with such an event is refused whole, and any other is taken", async () => {
  const clock = clockAt(noon);
  const away = keptSalts();
  away.isAway = true;
  const salts = await saltsOf(away, clock);
  const desk = openDesk({ clock, salts, addressOf: () => "203.0.113.7" });
  const plain = { event: "plain", distinct_id: "bob", properties: {} };
  for (const event of [
    visit(),
    { event: "e", distinct_id: "$posthog\\u005fcookieless" },
    { event: "e", distinct_id: null, properties: { distinct_id: "$posthog_cookieless" } },
    { event: "e", distinct_id: "alice", properties: { $cookieless_mode: true } },
  ]) {
    const body = JSON.stringify({ api_key: key, batch: [plain, event] }).replaceAll("\\\\u", "\\u");
    const refused = await desk.send("/batch", body);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  }
  expect((await desk.send("/batch", { api_key: key, batch: [plain] })).status).toBe(200);
  expect((await desk.send("/e", { api_key: key, ...plain })).status).toBe(200);
  expect(desk.counts).toMatchObject({ received: 2, accepted: 2, refused: 4 });
  away.isAway = false;
  await salts.poll();
  expect((await desk.send("/batch", { api_key: key, batch: [plain, visit()] })).status).toBe(200);
  expect(desk.counts).toMatchObject({ received: 4, accepted: 4 });
});

test("a body whose events are not known yet may hold such ones if its bytes say so, in any spelling", () => {
  for (const [text, mayHold] of [
    ['"$cookieless_mode":true', true],
    ['"$posthog_cookieless"', true],
    ['"$\\u0063ookieless_mode"', true],
    ['"$posthog_cookiele\\u0073s"', true],
    ['"$COOKIELESS"', false],
    ['"plain \\u00e9"', false],
  ] as const) {
    expect([text, mayHaveCookieless(new TextEncoder().encode(`x${text}`).subarray(1))]).toEqual([
      text,
      mayHold,
    ]);
  }
});

test("while Postgres is away, known salts go on", async () => {
  const clock = clockAt(noon);
  const shared = keptSalts();
  const salts = await saltsOf(shared, clock);
  shared.isAway = true;
  const desk = openDesk({ clock, salts, addressOf: () => "203.0.113.7" });
  clock.at += 20 * 3_600_000;
  await salts.poll().catch(() => {});
  expect((await desk.send("/e", { api_key: key, ...visit() })).status).toBe(200);
  expect(desk.counts).toMatchObject({ accepted: 1 });
});

test("a project that takes none is not refused anything for want of a salt", async () => {
  const desk = openDesk({ clock: clockAt(noon), cookieless: { enabled: false } });
  expect((await desk.send("/e", { api_key: key, ...visit() })).status).toBe(200);
  expect(desk.counts).toMatchObject({ accepted: 0, ignored: 1, cookieless_team_disabled: 1 });
});

test("events whose ids were made elsewhere are moved in as they are, without user agent and address", async () => {
  const desk = await visited();
  const old = { timestamp: "2024-03-05T12:00:00Z" };
  const moved = [
    visit({ distinct_id: "cookieless_abc", $session_id: "s", $ip: "203.0.113.50" }, old),
    visit({ distinct_id: "alice", $session_id: "s" }, old),
    visit({}, old),
  ];
  await desk.send("/batch", { api_key: key, historical_migration: true, batch: moved });
  await desk.send("/batch", { api_key: key, batch: [moved[0]!] });
  expect(desk.counts).toMatchObject({ received: 4, accepted: 3, cookieless_timestamp_out_of_range: 1 });
  await desk.kept();
  const [row] = desk.rows();
  expect(row?.["distinct_id"]).toBe("cookieless_abc");
  expect(JSON.parse(String(row?.["properties"]))).toEqual({
    distinct_id: "cookieless_abc",
    $device_id: null,
    $host: "www.example.com",
    $timezone: "Europe/Paris",
    $cookieless_mode: true,
    $session_id: "s",
  });
});

test("characters that cannot be stored are replaced and warned about in such an event as in any other", async () => {
  const desk = await visited();
  await desk.send("/e", JSON.stringify({ api_key: key, ...visit({ odd: "a\0b" }) }));
  await desk.kept();
  expect(desk.counts).toMatchObject({ accepted: 1, unstorable_characters_replaced: 1 });
  expect(String(desk.rows()[0]?.["properties"])).toContain('"odd":"a\\ufffdb"');
});

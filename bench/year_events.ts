// A year of events of one project, made inside the engine: shaped as browsers send them, with thirty properties and
// about a kilobyte each. Half a million persons, a fifth of whom have a second distinct id that was merged into theirs.

import { deriveStored } from "../src/capture/store.ts";
import type { Stores } from "../src/storage/stores.ts";

/** The year that they happened in. */
export const year = 2024;
export const personsOf = (events: number): number => Math.ceil(events / 40);

const pick = (texts: readonly string[], index: string): string =>
  `arrayElement([${texts.map((text) => `'${text}'`).join(", ")}], toUInt8(${index} % ${texts.length}) + 1)`;

/** Properties by name: SQL of the JSON value, over `number`, `h` (its hash), `person` and `at`. */
const properties: Record<string, string> = {
  $os: `'"', ${pick(["Windows", "Mac OS X", "iOS", "Android", "Linux", "Windows", "iOS"], "person")}, '"'`,
  $os_version: `'"', toString(person % 17), '.', toString(person % 5), '"'`,
  $browser: `'"', ${pick(["Chrome", "Safari", "Mobile Safari", "Firefox", "Chrome", "Microsoft Edge"], "intDiv(person, 7)")}, '"'`,
  $browser_version: "toString(100 + person % 31)",
  $browser_language: `'"', ${pick(["en-US", "en-GB", "de-DE", "fr-FR", "pt-BR", "ja-JP"], "intDiv(person, 11)")}, '"'`,
  $device_type: `'"', ${pick(["Desktop", "Mobile", "Desktop", "Tablet"], "intDiv(person, 3)")}, '"'`,
  $current_url: `'"https://www.example.com/products/', toString(h % 1999), '?ref=', toString(h % 100003), '"'`,
  $host: `'"www.example.com"'`,
  $pathname: `'"/products/', toString(h % 1999), '"'`,
  $screen_height: "toString(700 + person % 9 * 100)",
  $screen_width: "toString(1000 + person % 7 * 150)",
  $viewport_height: "toString(600 + person % 50 * 10)",
  $viewport_width: "toString(900 + person % 60 * 10)",
  $lib: `'"web"'`,
  $lib_version: `'"1.2', toString(intDiv(number, 400000) % 60), '.', toString(h % 3), '"'`,
  $insert_id: `'"', lower(hex(h)), '"'`,
  $time: "toString(1704067200 + intDiv(at, 1000000)), '.', toString(h % 1000)",
  distinct_id: `'"', distinct, '"'`,
  $device_id: `'"0190-', toString(person * 7919), '-device"'`,
  $session_id: `'"0190-', toString(intDiv(at, 7200000000)), '-', toString(person), '-session"'`,
  $window_id: `'"0190-', toString(intDiv(at, 7200000000)), '-', toString(person), '-window"'`,
  $referrer: `'"', ${pick(["$direct", "https://www.google.com/", "https://news.ycombinator.com/", "$direct"], "h")}, '"'`,
  $referring_domain: `'"', ${pick(["$direct", "www.google.com", "news.ycombinator.com", "$direct"], "h")}, '"'`,
  $raw_user_agent: `'"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/', toString(100 + person % 31), '.0.0.0 Safari/537.36"'`,
  $timezone: `'"', ${pick(["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Europe/London"], "intDiv(person, 5)")}, '"'`,
  title: `'"Product ', toString(h % 1999), ' | Example shop"'`,
  utm_source: `${pick(['"newsletter"', '"google"', "null", "null", "null"], "intDiv(person, 13)")}`,
  plan: `'"', ${pick(["free", "free", "pro", "team"], "intDiv(person, 17)")}, '"'`,
  price: `toString(h % 500), '.5'`,
  $is_identified: `${pick(["true", "false"], "person")}`,
  token: `'"phc_bench_project_key_0123456789"'`,
};

/** Every 50th is of the last name: it sets its person's properties. */
const names =
  `multiIf(number % 50 = 49, '$identify', h % 100 < 42, '$pageview', h % 100 < 82, '$autocapture', h % 100 < 94, ` +
  `'$pageleave', h % 100 < 97, 'bought', 'signed up')`;

const json = Object.entries(properties)
  .map(([name, value], i) => `'${i === 0 ? "{" : ","}"${name}":', ${value}`)
  .join(", ");

const setKeys = ["email", "plan", "$browser", "$os", "$initial_utm_source", "$initial_referring_domain"];
const setValues = [
  `concat('"u', toString(person), '@example.com"')`,
  `'"${"pro"}"'`,
  `concat('"', ${pick(["Chrome", "Safari", "Firefox"], "person")}, '"')`,
  `concat('"', ${pick(["Windows", "iOS", "Linux"], "person")}, '"')`,
  `${pick(['"newsletter"', '"google"', '"bing"'], "intDiv(person, 13)")}`,
  `'"$direct"'`,
];

/** Fills the tables in order of time, as a year of live events does; views derive what they derive of any. */
export async function fillYear({ clickhouse }: Stores, events: number): Promise<void> {
  const each = Math.ceil(events / 40);
  const persons = personsOf(events);
  const micros = 366 * 86_400_000_000;
  const isSet = "number % 50 = 49";
  for (let from = 0; from < events; from += each) {
    const rows = Math.min(each, events - from);
    const batch = from / each + 1;
    await clickhouse.command(
      `INSERT INTO event_rows (uuid, project_id, event, distinct_id, properties, timestamp, created_at, _batch, _row, pk, pw, pv)
       WITH cityHash64(number) AS h,
         -- A tenth of the persons have half of the events.
         if(h % 2 = 0, intDiv(h, 16) % ${Math.ceil(persons / 10)}, intDiv(h, 16) % ${persons}) AS person,
         toInt64(number * ${micros / events} + intHash32(number) % 1000000) AS at,
         concat(if(person % 5 = 0 AND intDiv(h, 4) % 3 = 0, 'anonymous_', 'user_'), toString(intHash64(person))) AS distinct
       SELECT reinterpretAsUUID(sipHash128(number)), 1, ${names}, distinct, concat(${json}, '}'),
         toDateTime64('${year}-01-01 00:00:00', 6, 'UTC') + toIntervalMicrosecond(at) AS moment,
         moment, {batch:UInt64}, number,
         if(${isSet}, [${setKeys.map((key) => `'${key}'`).join(", ")}], []),
         if(${isSet}, [0, 0, 0, 0, 1, 1], [])::Array(Int8),
         if(${isSet}, [${setValues.join(", ")}], [])
       FROM numbers({from:UInt64}, {rows:UInt64})
       SETTINGS max_insert_threads = 2, max_threads = 2`,
      { from, rows, batch },
      { timeoutMs: 600_000 },
    );
    // As behind the flush: nearly every event has a session of its own here, so that they are as many as can be.
    await deriveStored(clickhouse, [BigInt(batch)]);
  }
  await clickhouse.command(
    `INSERT INTO merged_ids (project_id, distinct_id, main_id, merged_at, created_at, version)
     SELECT 1, arrayJoin([main, concat('anonymous_', toString(intHash64(number * 5)))]),
       concat('user_', toString(intHash64(number * 5))) AS main, toDateTime64('${year}-01-01 00:00:00', 6, 'UTC'), now64(6), 1
     FROM numbers({merged:UInt64})`,
    { merged: Math.ceil(persons / 5) },
  );
}

// Events as sites send them, 535 to 600 bytes each in the mean, the same in every run.

import { mix, mixBytes, type Site, siteBytes, siteEvent } from "./site_events.ts";

export interface EventPlan {
  count: number;
  /** Their timestamps are in so many months, from 2020-01 on. */
  months?: number;
  /** Different distinct ids; 5,000 unless told. */
  distinctIds?: number;
  /** Whether every event has a distinct id of its own, not every session. */
  strangers?: boolean;
  /** Sessions that go on at the same time, an event of each in turn; 1,000 unless told. */
  sessionsAtOnce?: number;
  /** The number of the first one: events of different numbers have different uuids. */
  first?: number;
  /** A further property of so many characters. */
  noteLetters?: number;
  /** Of which kind they are: short ones of 552 bytes and 14 properties unless told, or as sites send them. */
  site?: Site | "mix" | undefined;
}

/** Events of a session. */
const sessionEvents = 12;

const names = [
  "$pageview",
  "$pageview",
  "$autocapture",
  "$pageleave",
  "signed up",
  "added to cart",
  "bought",
];
const browsers = [
  ["Firefox", "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"],
  [
    "Safari",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15",
  ],
  ["Chrome", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36"],
] as const;
const systems = ["Linux", "Mac OS X", "Windows"];
const titles = ["Shoes that last", "Größe 42, grün", 'A "quoted" offer', "Espresso & more", "靴と鞄"];

/** About what an event takes in a body. */
export const eventBytes = 552;

/** Bytes of an event of a plan, in the mean. */
export function eventBytesOf({ site }: Pick<EventPlan, "site">): number {
  return site === undefined ? eventBytes : site === "mix" ? mixBytes : siteBytes[site];
}

/** Each event as JSON text. */
export function eventTexts({ count, first = 0, ...plan }: EventPlan): string[] {
  return Array.from({ length: count }, (_, i) => eventText(first + i, plan));
}

function eventText(i: number, plan: Omit<EventPlan, "count" | "first">): string {
  const {
    months = 1,
    distinctIds = 5000,
    strangers = false,
    sessionsAtOnce = 1000,
    noteLetters = 0,
    site,
  } = plan;
  const chance = stirred(i);
  const [browser, agent] = browsers[chance % browsers.length]!;
  const round = Math.floor(i / sessionsAtOnce);
  const session = Math.floor(round / sessionEvents) * sessionsAtOnce + (i % sessionsAtOnce);
  const distinctId = stirred((strangers ? i : session) % distinctIds);
  const begun = stirred(session);
  const start = Date.UTC(2020, session % months, 1 + (session % 28), begun % 23, begun % 60, begun % 59);
  const time = start + (round % sessionEvents) * 37_000 + (chance % 30_000);
  const uuid = `01890a5d-ac96-774b-bcce-0000${chance.toString(16).padStart(8, "0")}`;
  const distinct_id = `user_${distinctId.toString(36)}`;
  const timestamp = new Date(time).toISOString();
  if (site) {
    const kind = site === "mix" ? mix[session % mix.length]! : site;
    const visit = { chance, session: begun, person: distinctId, distinctId: distinct_id, start, time };
    const { event, properties } = siteEvent(kind, visit);
    return JSON.stringify({ event, distinct_id, uuid, timestamp, properties });
  }
  const product = chance % 977;
  const properties: Record<string, unknown> = {
    $current_url: `https://example.com/products/${product}?ref=${chance % 100_000}`,
    $pathname: `/products/${product}`,
    $browser: browser,
    $os: systems[chance % systems.length],
    $lib: "web",
    $lib_version: "1.434.18",
    $device_id: `0190-${distinctId.toString(16)}`,
    $screen: [1920, 1080],
    $session_id: `0189-${begun.toString(16)}`,
    $user_agent: agent,
    title: `${titles[chance % titles.length]}, number ${product}`,
  };
  if (i % 3 === 0)
    Object.assign(properties, { price: (chance % 100) + 0.5, currency: "EUR", in_stock: true });
  if (i % 4 === 0) properties["experiment"] = { name: "checkout", variant: chance % 2 === 0 ? "a" : "b" };
  if (noteLetters > 0) properties["note"] = "a note ".repeat(noteLetters).slice(0, noteLetters);
  return JSON.stringify({
    event: names[chance % names.length],
    distinct_id,
    uuid,
    timestamp,
    properties,
  });
}

/** Pseudo-random, and different for different numbers below 2^32. */
function stirred(i: number): number {
  let x = Math.imul(i + 1, 0x9e3779b1);
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  return x >>> 0;
}

/** A body of /capture around one event. */
export function captureAround(event: string, key: string): Uint8Array {
  return new TextEncoder().encode(`{"api_key":"${key}",${event.slice(1)}`);
}

/** A body of /batch around events. */
export function bodyAround(events: string[], key: string): Uint8Array {
  return new TextEncoder().encode(
    `{"api_key":"${key}","historical_migration":true,"batch":[${events.join(",")}]}`,
  );
}

/** A /batch body of `count` events over `months` months, as bytes. */
export function batchBody(
  count: number,
  months: number,
  key = "phc_bench_project_key_0123456789",
): Uint8Array {
  return bodyAround(eventTexts({ count, months }), key);
}

// Two hundred thousand events of a shop in days in which clocks change, in Berlin forward and in Sydney back; no two of
// one moment. Each event knows its person and its session, and each session its channel, before anything is asked.

export const manyZones = ["Europe/Berlin", "Australia/Sydney"];
export const eventCount = 200_000;
const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;
const firstMs = Date.UTC(2024, 2, 27);
const days = 13;
const personCount = 3000;

export interface MadePerson {
  /** Undefined of who has no profile. */
  email: string | undefined;
  plan: string;
  seats: number;
  ids: string[];
  /** Whether the profile begins with the first of the events, and not a month before. */
  isLate: boolean;
}

const profileOf = ({ email, plan, seats }: MadePerson) => ({ email, plan, seats });

export interface MadeEvent {
  uuid: string;
  event: string;
  distinct_id: string;
  at: number;
  properties: Record<string, unknown>;
  person: MadePerson;
  session: MadeSession;
}

/** `entered` are the properties of the first event with a URL that say where the visitor came from. */
export interface MadeSession {
  id: string;
  person: MadePerson;
  channel: string;
  entered: Record<string, string>;
  events: MadeEvent[];
}

/** Numbers of a fixed row: mulberry32. */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const next = numbersFrom(20_240_407);
const below = (count: number): number => Math.floor(next() * count);
const oneOf = <Value>(list: readonly Value[]): Value => list[below(list.length)]!;

const channels: readonly { channel: string; entered: Record<string, string> }[] = [
  { channel: "Direct", entered: { $referring_domain: "$direct" } },
  { channel: "Unknown", entered: {} },
  { channel: "Organic Search", entered: { $referring_domain: "www.google.com" } },
  { channel: "Paid Search", entered: { $referring_domain: "www.google.com", gclid: "g1" } },
  { channel: "Referral", entered: { $referring_domain: "blog.example.org" } },
  {
    channel: "Paid Social",
    entered: {
      $referring_domain: "m.facebook.com",
      utm_source: "facebook",
      utm_medium: "cpc",
      utm_campaign: "May",
    },
  },
  {
    channel: "Email",
    entered: { utm_source: "letter", utm_medium: "email", utm_term: "tea", utm_content: "button" },
  },
];

const persons = Array.from({ length: personCount }, (_, i): MadePerson => {
  const main = `user ${i}`;
  // Every tenth has no profile, and every third of the others had another id before.
  const isAnonymous = i % 10 === 9;
  return {
    email: isAnonymous ? undefined : `u${i}@example.com`,
    plan: ["free", "pro", "team"][i % 3]!,
    seats: i % 7,
    ids: !isAnonymous && i % 3 === 0 ? [main, `anonymous ${i}`] : [main],
    isLate: !isAnonymous && i % 3 === 1,
  };
});

const browsers = ["Firefox", "Chrome", "Safari", undefined];
const systems = ["Linux", "Windows", "iOS"];
const countries = ["DE", "AU", "NP"];
const languages = ["de-DE", "en-AU"];

/** What all events of a visit have alike. */
function visitProperties(session: string): Record<string, unknown> {
  return {
    $session_id: session,
    $browser: oneOf(browsers),
    $os: oneOf(systems),
    $device_type: oneOf(["Desktop", "Mobile"]),
    $geoip_country_code: oneOf(countries),
    $timezone: oneOf(manyZones),
    $browser_language: oneOf(languages),
    $viewport_width: oneOf([400, 1280]),
    $viewport_height: oneOf([800, 720]),
  };
}

const moments = new Set<number>();

function freeMoment(from: number): number {
  let at = from;
  while (moments.has(at)) at++;
  moments.add(at);
  return at;
}

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

/** The events of one visit, half a second to five minutes apart, with a pause of an hour now and then. */
function makeVisit(number: number, made: MadeEvent[]): void {
  const person = oneOf(persons);
  const { channel, entered } = oneOf(channels);
  const isApp = below(8) === 0;
  const common = visitProperties(`visit ${number}`);
  const session: MadeSession = {
    id: `visit ${number}`,
    person,
    channel: isApp ? "Unknown" : channel,
    entered: isApp ? {} : entered,
    events: [],
  };
  const length = Math.min(below(4) === 0 ? 1 : 1 + below(32), eventCount - made.length);
  let at = firstMs + below(days * dayMs);
  for (let i = 0; i < length; i++) {
    at = freeMoment(at + 500 + below(i % 9 === 8 ? 60 * minuteMs : 5 * minuteMs));
    const path = oneOf(["/", "/tea", "/cup", `/tea/${below(30)}`]);
    const view = isApp
      ? { event: "$screen", own: { $screen_name: oneOf(["Home", "Cart", "Pay"]) } }
      : { event: "$pageview", own: { $pathname: path, $current_url: `https://shop.example${path}` } };
    const other = { event: oneOf(["$autocapture", "bought", "signed up"]), own: {} };
    const { event, own } = i === 0 || below(3) > 0 ? view : other;
    // Only the first event of a visit says where it came from.
    const source = isApp ? {} : i === 0 ? entered : { utm_source: "later" };
    const properties = { ...common, ...own, ...source, ...(event === "bought" && { price: below(200) / 2 }) };
    const distinct_id = oneOf(person.ids);
    const one = { uuid: uuidOf(made.length), event, distinct_id, at, properties, person, session };
    made.push(one);
    session.events.push(one);
  }
}

export interface ManyEvents {
  events: MadeEvent[];
  sessions: MadeSession[];
  persons: MadePerson[];
}

export function makeManyEvents(): ManyEvents {
  const events: MadeEvent[] = [];
  for (let i = 0; events.length < eventCount; i++) makeVisit(i, events);
  for (const [person, own] of Map.groupBy(events, ({ person }) => person)) {
    if (!person.isLate) continue;
    const first = own.reduce((least, one) => (one.at < least.at ? one : least));
    first.properties["$set"] = profileOf(person);
  }
  return { events, sessions: [...new Set(events.map(({ session }) => session))], persons };
}

/** The bodies of /batch/ that send them all: who the persons are, and what they did. */
export function* bodiesOf({ events }: ManyEvents, api_key: string): Generator<string> {
  const late = new Set(events.flatMap(({ person }) => (person.isLate ? [person] : [])));
  const profiles = persons.flatMap((person) => {
    if (person.email === undefined || late.has(person)) return [];
    const [distinct_id, before] = person.ids;
    const $set = profileOf(person);
    // Before all that is asked for.
    const timestamp = "2024-03-01T12:00:00Z";
    const set = { event: "$set", distinct_id, timestamp, properties: { $set } };
    const $anon_distinct_id = before;
    const merge = { event: "$identify", distinct_id, timestamp, properties: { $anon_distinct_id } };
    return before === undefined ? [set] : [set, merge];
  });
  yield JSON.stringify({ api_key, batch: profiles });
  for (let from = 0; from < events.length; from += 25_000) {
    const batch = events
      .slice(from, from + 25_000)
      .map(({ uuid, event, distinct_id, at, properties, person }) => ({
        uuid,
        event,
        distinct_id,
        timestamp: new Date(at).toISOString(),
        properties: { ...properties, ...(person.email === undefined && { $process_person_profile: false }) },
      }));
    yield JSON.stringify({ api_key, batch });
  }
}

/** Local time by quarters of an hour: zones change their offset at such. */
export function localClock(zone: string): (at: number) => { day: string; hour: number } {
  const known = new Map<number, { day: string; hour: number }>();
  return (at) => {
    const quarter = Math.floor(at / 900_000);
    const found = known.get(quarter);
    if (found) return found;
    const local = Temporal.Instant.fromEpochMilliseconds(quarter * 900_000).toZonedDateTimeISO(zone);
    const made = { day: local.toPlainDate().toString(), hour: local.hour };
    known.set(quarter, made);
    return made;
  };
}

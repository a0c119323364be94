// A made-up shop: ninety days of visitors, the same for the same day. The console and the command line both make it,
// so that it needs nothing of a browser or a server.

export interface ShopEvent {
  event: string;
  distinct_id: string;
  timestamp: string;
  uuid: string;
  properties: Record<string, unknown>;
}

/** A visit of which a recording is made: somebody who bought something yesterday. */
export interface RecordedVisit {
  distinctId: string;
  sessionId: string;
  /** In ms since 1970. */
  begun: number;
  product: string;
}

export const shopDays = 90;
const dayMs = 86_400_000;
const site = "https://shop.example.com";
const products = [
  ["espresso-cup", 14],
  ["linen-apron", 39],
  ["bread-knife", 48],
  ["oak-board", 62],
  ["cast-iron-pan", 89],
  ["copper-kettle", 129],
] as const;
const sources = [
  { weight: 30, domain: "$direct" },
  { weight: 28, domain: "www.google.com" },
  { weight: 14, domain: "www.instagram.com" },
  { weight: 12, domain: "news.ycombinator.com" },
  {
    weight: 16,
    domain: "$direct",
    utm: { utm_source: "newsletter", utm_medium: "email", utm_campaign: "autumn" },
  },
];
const countries = wordWeights("DE 30 US 24 FR 14 GB 12 NL 9 SE 6 JP 5");
const systems = [
  { weight: 34, $os: "Windows", $browser: "Chrome", $device_type: "Desktop" },
  { weight: 20, $os: "Mac OS X", $browser: "Safari", $device_type: "Desktop" },
  { weight: 24, $os: "iOS", $browser: "Mobile Safari", $device_type: "Mobile" },
  { weight: 16, $os: "Android", $browser: "Chrome", $device_type: "Mobile" },
  { weight: 6, $os: "Linux", $browser: "Firefox", $device_type: "Desktop" },
];
/** Visits by hour of the day, UTC. */
const hours = [1, 1, 1, 1, 1, 2, 4, 7, 9, 10, 10, 9, 11, 10, 9, 9, 9, 10, 12, 14, 13, 9, 5, 2];

interface Visitor {
  distinctId: string;
  customer: number | undefined;
  company: string | undefined;
  traits: Record<string, unknown>;
  /** How often a page leads on, beside the usual one. */
  eagerness: number;
  /** The end of the last visit, in ms since 1970. */
  seen: number;
}

/** Pseudo-random numbers in [0, 1), the same for the same seed (mulberry32). */
function openRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function wordWeights(text: string): { weight: number; name: string }[] {
  const words = text.split(" ");
  return words.flatMap((name, i) => (i % 2 === 0 ? [{ name, weight: Number(words[i + 1]) }] : []));
}

function choose<Item extends { weight: number }>(random: () => number, items: readonly Item[]): Item {
  let left = random() * items.reduce((sum, { weight }) => sum + weight, 0);
  return items.find(({ weight }) => (left -= weight) < 0) ?? items[0]!;
}

/** Some 20,000 events in the order of their times, up to `now` (ms since 1970). The first is ninety days before. */
export class Shop {
  recorded: RecordedVisit | undefined;
  readonly #now: number;
  readonly #random: () => number;
  readonly #visitors: Visitor[] = [];
  #customers = 0;

  constructor(now: number) {
    this.#now = now;
    this.#random = openRandom(Math.floor(now / dayMs));
  }

  *events(): Generator<ShopEvent> {
    const today = Math.floor(this.#now / dayMs);
    for (let day = today - shopDays; day <= today; day++) {
      const made = this.#makeDay(day, day - today + shopDays).filter(({ at }) => at <= this.#now);
      for (const { event } of made.toSorted((left, right) => left.at - right.at)) yield event;
    }
  }

  /** @param age days since the first. */
  #makeDay(day: number, age: number): { at: number; event: ShopEvent }[] {
    const isWeekend = ((day + 4) % 7) % 6 === 0;
    const visits = Math.round((60 + age * 0.6) * (isWeekend ? 0.6 : 1) * (0.85 + 0.3 * this.#random()));
    const weights = hours.map((weight, hour) => ({ weight, hour }));
    const begun = Array.from({ length: visits }, () => {
      const { hour } = choose(this.#random, weights);
      return day * dayMs + Math.floor((hour + this.#random()) * 3_600_000);
    });
    const isYesterday = age === shopDays - 1;
    return begun.toSorted((left, right) => left - right).flatMap((at) => this.#makeVisit(at, isYesterday));
  }

  #findVisitor(begun: number): Visitor {
    const random = this.#random;
    // Recent ones come back more often than those of long ago.
    const known = this.#visitors[Math.floor(this.#visitors.length * Math.sqrt(random()))];
    if (random() < 0.38 && known && known.seen < begun) return known;
    const { weight: _, utm, domain } = choose(random, sources);
    const { weight: __, ...system } = choose(random, systems);
    const visitor: Visitor = {
      distinctId: `visitor-${this.#id(8)}`,
      customer: undefined,
      company: random() < 0.12 ? `company-${1 + Math.floor(random() * 14)}` : undefined,
      traits: {
        ...system,
        $geoip_country_code: choose(random, countries).name,
        $referring_domain: domain,
        ...(domain !== "$direct" && { $referrer: `https://${domain}/` }),
        ...utm,
        $lib: "web",
      },
      eagerness: 0.6 + random() * 0.8,
      seen: begun,
    };
    this.#visitors.push(visitor);
    return visitor;
  }

  #makeVisit(begun: number, isYesterday: boolean): { at: number; event: ShopEvent }[] {
    const visitor = this.#findVisitor(begun);
    const sessionId = this.#uuid(begun);
    const made: { at: number; event: ShopEvent }[] = [];
    let at = begun;
    let path = "/";
    const add = (event: string, properties: Record<string, unknown> = {}): void => {
      const common = { ...visitor.traits, $session_id: sessionId, $host: "shop.example.com" };
      const page = { $current_url: `${site}${path}`, $pathname: path };
      const groups = visitor.company && { $groups: { company: visitor.company } };
      const timestamp = new Date(at).toISOString();
      const own = { ...common, ...page, ...groups, ...properties };
      made.push({
        at,
        event: { event, distinct_id: visitor.distinctId, timestamp, uuid: this.#uuid(at), properties: own },
      });
      at += 3000 + Math.floor(this.#random() * 50_000);
      visitor.seen = at;
    };
    const leadsOn = (share: number): boolean => this.#random() < share * visitor.eagerness;
    const open = (next: string): void => {
      path = next;
      add("$pageview");
    };
    const [product, price] = products[Math.floor(this.#random() ** 1.4 * products.length)]!;
    if (this.#random() < 0.65) open("/");
    if (made.length > 0 && !leadsOn(0.72)) return made;
    if (this.#random() < 0.5) open("/kitchen");
    open(`/products/${product}`);
    if (!leadsOn(0.34)) return made;
    add("added to cart", { product, price });
    if (!leadsOn(0.62)) return made;
    open("/checkout");
    add("checkout started", { amount: price });
    if (!leadsOn(0.74)) return made;
    if (visitor.customer === undefined) this.#signUp(visitor, add);
    const items = 1 + Math.floor(this.#random() * 3);
    add("order paid", { product, items, amount: items * price, currency: "EUR" });
    open("/thanks");
    if (isYesterday) this.recorded ??= { distinctId: visitor.distinctId, sessionId, begun, product };
    return made;
  }

  #signUp(visitor: Visitor, add: (event: string, properties?: Record<string, unknown>) => void): void {
    const anonymous = visitor.distinctId;
    const number = (visitor.customer = ++this.#customers);
    visitor.distinctId = `customer-${number}`;
    const plan = this.#random() < 0.25 ? "club" : "guest";
    const set = { email: `customer-${number}@example.com`, plan };
    add("$identify", { $anon_distinct_id: anonymous, $set: set });
    if (visitor.company === undefined) return;
    const named = {
      name: visitor.company.replace("company-", "Company "),
      sells: number % 2 ? "bread" : "coffee",
    };
    add("$groupidentify", { $group_type: "company", $group_key: visitor.company, $group_set: named });
  }

  #id(digits: number): string {
    return Array.from({ length: digits }, () => Math.floor(this.#random() * 16).toString(16)).join("");
  }

  /** A UUIDv7 of this moment. */
  #uuid(at: number): string {
    const time = at.toString(16).padStart(12, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${this.#id(3)}-8${this.#id(3)}-${this.#id(12)}`;
  }
}

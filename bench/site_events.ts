// Events as sites send them: recorded of today's SDKs (recorded_events.json), with what differs from event to event put
// in. `server`: posthog-node and posthog-python, 13 to 18 properties. `short`: posthog-js that is denied to send campaign
// parameters and what it notes of itself, 32 to 37. `web`: posthog-js as it comes, 85 to 95, a third of them null.

import recorded from "./recorded_events.json" with { type: "json" };

export type Site = "server" | "short" | "web";
/** A session's events are of one kind; of four sessions one is a server's, one short, and two are posthog-js's as they come. */
export const mix: readonly Site[] = ["server", "web", "short", "web"];

/** Bytes of an event of each kind in the mean, with its uuid, name, ids and time. */
export const siteBytes: Readonly<Record<Site, number>> = { server: 531, short: 1102, web: 2803 };
export const mixBytes = mix.reduce((sum, site) => sum + siteBytes[site], 0) / mix.length;

interface Recorded {
  event: string;
  properties: Record<string, unknown>;
}

const all: readonly (Recorded & { sdk: string })[] = recorded;
const isWeb = ({ sdk }: { sdk: string }): boolean => sdk.startsWith("posthog-js ");
/** What `short` denies posthog-js to send: what campaigns and it itself left there, and ids that nobody asks for. */
const denied =
  /^(?:utm_|\$session_entry_|\$sdk_|\$feature_flag|\$prev_pageview|\$initialization|\$configured|\$lib_|\$config|\$browser_(?:type|language_prefix))|_(?:server_side|user_agent|id|chain|size|status)$|clid$|braid$|^(?:li_fat_id|gad_source|gclsrc|rdt_cid|epik|sccid|oppref|bfcid|_kx)$/;
const needed = new Set(["$device_id", "$window_id"]);

const templates: Readonly<Record<Site, readonly Recorded[]>> = {
  server: all.filter((one) => !isWeb(one)),
  short: all.filter(isWeb).map(({ event, properties }) => ({
    event,
    properties: Object.fromEntries(
      Object.entries(properties).filter(([name]) => needed.has(name) || !denied.test(name)),
    ),
  })),
  web: all.filter(isWeb),
};

/** What differs from event to event. */
export interface Visit {
  /** A number of the event, of its session, and of its person, each spread over 32 bits. */
  chance: number;
  session: number;
  person: number;
  distinctId: string;
  /** In ms since 1970; `start`: its session's. */
  start: number;
  time: number;
}

/** The name and properties of an event of a site. */
export function siteEvent(site: Site, { chance, session, person, distinctId, start, time }: Visit): Recorded {
  const list = templates[site];
  const { event, properties } = list[chance % list.length]!;
  const product = chance % 977;
  const own: Record<string, unknown> = { ...properties };
  const put = (name: string, value: unknown): void => {
    if (name in own) own[name] = value;
  };
  const hex = (number: number) => (number >>> 0).toString(16).padStart(8, "0");
  const id = (number: number) =>
    `01a20a54-${hex(number).slice(0, 4)}-7${hex(number).slice(1, 4)}-8f6e-b78e${hex(number)}`;
  const title = titles[product % titles.length]!.toLowerCase().replaceAll(" ", "-");
  const page = `/products/${encodeURIComponent(title)}-${product}`;
  put("$current_url", `https://shop.example.com${page}?ref=${chance % 100_000}`);
  put("$pathname", page);
  put("$insert_id", hex(chance).repeat(2));
  put("$time", time / 1000 + (chance % 1000) / 1e6);
  put("$device_id", id(person));
  put("distinct_id", distinctId);
  put("$user_id", distinctId);
  put("$window_id", id(session ^ 0x5bd1e995));
  put("$pageview_id", id(chance ^ 0x27d4eb2f));
  put("$screen_width", [1280, 1440, 1920, 2560][person % 4]);
  put("$prev_pageview_last_scroll_percentage", (chance % 1000) / 1000);
  put("$prev_pageview_duration", (chance % 100_000) / 333);
  put("$el_text", `Buy "${titles[product % titles.length]}"`);
  put("product", `${titles[product % titles.length]}, number ${product}`);
  put("price", (chance % 30_000) / 100);
  put("order_id", `ord_${chance}`);
  put("amount", (chance % 50_000) / 100);
  put("duration_ms", (chance % 1_000_000) / 1237);
  put("request_id", `req_${hex(chance)}`);
  put("name", titles[product % titles.length]);
  // All events of the bench belong to sessions; a server sends the id that it got from the browser.
  // It has the moment at which the session began, as posthog-js makes it.
  const begun = start.toString(16).padStart(12, "0");
  own["$session_id"] = `${begun.slice(0, 8)}-${begun.slice(8)}-${id(session ^ 0x9e3779b9).slice(14)}`;
  return { event, properties: own };
}

const titles = ["Shoes that last", "Größe 42 grün", 'A "quoted" offer', "Espresso & more", "靴と鞄"];

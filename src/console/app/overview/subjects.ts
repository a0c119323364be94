// The subjects of the tables of the overview, and the names of their rows.

import { countryName, findCountry } from "./countries.ts";

/** Rows of a table have this in common, and each is a filter. */
export interface Subject {
  /** The API's name of the breakdown. */
  by: string;
  title: string;
  /** The property that a row's filter compares; of events, or of sessions. */
  key: string;
  type: "event" | "session";
  /** The name of the row without a value. */
  none?: string;
}

const ofEvent = (by: string, title: string, key: string): Subject => ({ by, title, key, type: "event" });
const ofSession = (by: string, title: string, key: string, none: string): Subject => ({
  ...ofEvent(by, title, key),
  type: "session",
  none,
});

export const cards: Readonly<Record<string, readonly Subject[]>> = {
  Sources: [
    ofSession("InitialReferringDomain", "Referrers", "$entry_referring_domain", "Direct or unknown"),
    ofSession("InitialChannelType", "Channels", "$channel_type", "Unknown"),
  ],
  Pages: [
    ofEvent("Page", "Pages", "$pathname"),
    ofSession("InitialPage", "Entry pages", "$entry_pathname", "Unknown"),
    ofSession("ExitPage", "Exit pages", "$end_pathname", "Unknown"),
  ],
  Countries: [
    ofEvent("Country", "Countries", "$geoip_country_code"),
    ofEvent("Language", "Languages", "$browser_language"),
  ],
  Devices: [
    ofEvent("Browser", "Browsers", "$browser"),
    ofEvent("OS", "Systems", "$os"),
    ofEvent("DeviceType", "Devices", "$device_type"),
  ],
  Campaigns: [
    ofSession("InitialUTMCampaign", "Campaigns", "$entry_utm_campaign", "Without a campaign"),
    ofSession("InitialUTMSource", "UTM sources", "$entry_utm_source", "Without a source"),
    ofSession("InitialUTMMedium", "UTM media", "$entry_utm_medium", "Without a medium"),
    ofSession("InitialUTMTerm", "UTM terms", "$entry_utm_term", "Without a term"),
    ofSession("InitialUTMContent", "UTM content", "$entry_utm_content", "Without content"),
  ],
};

/** Events without a country have one by the time zone of their browser. */
export const byZone = ofEvent("TimezoneName", "Time zones", "$timezone");

/** Subjects by the API's name of their breakdown. */
export const subjects = new Map(
  [...Object.values(cards).flat(), byZone].map((subject) => [subject.by, subject]),
);

/** The name of a row. A country that is known only by a time zone is named as such. */
export function rowName({ by, none = "(none)" }: Subject, value: string): string {
  if (value === "") return none;
  if (by === "Country") return countryName(value);
  if (by !== byZone.by) return value === "$direct" ? "Direct" : value;
  const code = findCountry(value);
  return code ? `${countryName(code)} (by time zone ${value})` : `Time zone ${value}`;
}

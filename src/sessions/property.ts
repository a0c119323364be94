// The properties a session has: what each is called, what it is, and which values it can have when these are fixed.
// Never says where it rests.

import type { PropertyType } from "./model.ts";

export interface SessionProperty {
  name: string;
  type: PropertyType;
}

/** Texts, which are looked up among the project's sessions. */
export const textNames = [
  "$entry_current_url",
  "$entry_pathname",
  "$entry_hostname",
  "$end_current_url",
  "$end_pathname",
  "$end_hostname",
  "$last_external_click_url",
  "$entry_referrer",
  "$entry_referring_domain",
  "$entry_utm_source",
  "$entry_utm_campaign",
  "$entry_utm_medium",
  "$entry_utm_term",
  "$entry_utm_content",
  "$entry_gclid",
  "$entry_gad_source",
  "$entry_gclsrc",
  "$entry_dclid",
  "$entry_gbraid",
  "$entry_wbraid",
  "$entry_fbclid",
  "$entry_msclkid",
  "$entry_twclid",
  "$entry_li_fat_id",
  "$entry_mc_cid",
  "$entry_igshid",
  "$entry_ttclid",
  "$entry__kx",
  "$entry_irclid",
] as const;
export type TextName = (typeof textNames)[number];

/** Values that are the same for every project. */
const fixedValues: Readonly<Record<string, readonly string[]>> = {
  $channel_type: [
    "Affiliate",
    "Audio",
    "Cross Network",
    "Direct",
    "Email",
    "Organic Search",
    "Organic Shopping",
    "Organic Social",
    "Organic Video",
    "Unknown",
    "Paid Unknown",
    "Paid Search",
    "Paid Shopping",
    "Paid Social",
    "Paid Video",
    "Push",
    "Referral",
    "SMS",
  ],
  $is_bounce: ["1", "0"],
};

export const sessionProperties: readonly SessionProperty[] = [
  { name: "$start_timestamp", type: "DateTime" },
  { name: "$end_timestamp", type: "DateTime" },
  ...textNames.map((name) => ({ name, type: "String" as const })),
  { name: "$channel_type", type: "String" },
  { name: "$pageview_count", type: "Numeric" },
  { name: "$autocapture_count", type: "Numeric" },
  { name: "$screen_count", type: "Numeric" },
  { name: "$session_duration", type: "Duration" },
  { name: "$is_bounce", type: "Boolean" },
  { name: "$vitals_lcp", type: "Numeric" },
];

/** Numbers, as a filter would compare them. */
export function isNumerical({ type }: SessionProperty): boolean {
  return type === "Numeric" || type === "Duration";
}

/**
 * The properties with every word of `search` in their name, whatever its case; none of it finds all. A word is
 * letters, digits and underscores.
 */
export function findProperties(search: string, numerical: boolean | undefined): SessionProperty[] {
  const words = search.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return sessionProperties.filter((property) => {
    if (numerical !== undefined && isNumerical(property) !== numerical) return false;
    return words.every((word) => property.name.toLowerCase().includes(word));
  });
}

/** The fixed values with `part` in them, whatever its case; undefined for a property without fixed ones. */
export function findFixedValues(name: string, part: string): string[] | undefined {
  const values = Object.hasOwn(fixedValues, name) ? fixedValues[name] : undefined;
  return values?.filter((value) => value.toLowerCase().includes(part.toLowerCase()));
}

export function isTextName(name: string): name is TextName {
  return (textNames as readonly string[]).includes(name);
}

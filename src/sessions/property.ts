// The session properties: name, type, and the values of those whose values are fixed.

import { textExpressions } from "../storage/events/session_property.ts";
import type { PropertyType } from "./model.ts";

export interface SessionProperty {
  name: string;
  type: PropertyType;
}

/** Values that are the same in every project. */
const fixedValues: Readonly<Record<string, readonly string[]>> = {
  $channel_type: (
    "Affiliate, Audio, Cross Network, Direct, Email, Organic Search, Organic Shopping, Organic Social, " +
    "Organic Video, Unknown, Paid Unknown, Paid Search, Paid Shopping, Paid Social, Paid Video, Push, Referral, SMS"
  ).split(", "),
  $is_bounce: ["1", "0"],
};

const sessionProperties: readonly SessionProperty[] = [
  { name: "$start_timestamp", type: "DateTime" },
  { name: "$end_timestamp", type: "DateTime" },
  ...Object.keys(textExpressions).map((name) => ({ name, type: "String" as const })),
  { name: "$channel_type", type: "String" },
  { name: "$pageview_count", type: "Numeric" },
  { name: "$autocapture_count", type: "Numeric" },
  { name: "$screen_count", type: "Numeric" },
  { name: "$session_duration", type: "Duration" },
  { name: "$is_bounce", type: "Boolean" },
  { name: "$vitals_lcp", type: "Numeric" },
];

/** Whether a filter compares the property as a number. */
export function isNumerical({ type }: SessionProperty): boolean {
  return type === "Numeric" || type === "Duration";
}

/**
 * The properties whose name contains every word of `search`, in any case; all properties when it has no word. A word
 * consists of letters, digits and underscores.
 */
export function findProperties(search: string, numerical: boolean | undefined): SessionProperty[] {
  const words = search.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return sessionProperties.filter((property) => {
    if (numerical !== undefined && isNumerical(property) !== numerical) return false;
    return words.every((word) => property.name.toLowerCase().includes(word));
  });
}

/** The fixed values that contain `part`, in any case; undefined for a property without fixed values. */
export function findFixedValues(name: string, part: string): string[] | undefined {
  const values = Object.hasOwn(fixedValues, name) ? fixedValues[name] : undefined;
  return values?.filter((value) => value.toLowerCase().includes(part.toLowerCase()));
}

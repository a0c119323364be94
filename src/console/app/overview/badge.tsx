// The badge before a row: the code of its country, or the first letter of the site it came from in a colour of its own.

import { inkAt } from "../ui/ink.ts";
import { useDark } from "../ui/theme.tsx";
import { findCountry } from "./countries.ts";
import { byZone } from "./subjects.ts";

interface BadgeProps {
  /** The API's name of the breakdown; rows of most have no badge. */
  by: string;
  value: string;
}

export function Badge({ by, value }: BadgeProps) {
  const isDark = useDark();
  const code = by === byZone.by ? findCountry(value) : value.length === 2 && value.toUpperCase();
  if (by === "Country" || by === byZone.by)
    return <i class="badge" aria-hidden="true" data-badge={code || "?"} />;
  if (by !== "InitialReferringDomain") return null;
  if (value === "" || value === "$direct") return <i class="badge" aria-hidden="true" data-badge="→" />;
  const host = value.startsWith("www.") ? value.slice(4) : value;
  const sum = [...host].reduce((before, letter) => (before * 31 + letter.codePointAt(0)!) % 997, 7);
  const style = { color: inkAt(sum % inksOfHosts, isDark) };
  return <i class="badge" aria-hidden="true" data-badge={host.slice(0, 1).toUpperCase()} style={style} />;
}

/** As many colours as differ at a glance. */
const inksOfHosts = 8;

// The countries of time zones and of codes, by the browser's names.

/** The country of a time zone, as a code of two letters; undefined where the browser does not know. */
export function findCountry(zone: string): string | undefined {
  countries ??= countriesByZone();
  return countries.get(shownZone(zone));
}

let countries: Map<string, string> | undefined;

function countriesByZone(): Map<string, string> {
  const found = new Map<string, string>();
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  for (const code of letters.flatMap((first) => letters.map((second) => first + second))) {
    const locale: Intl.Locale & { getTimeZones?(): string[] | undefined } = new Intl.Locale(`und-${code}`);
    for (const zone of locale.getTimeZones?.() ?? []) found.set(shownZone(zone), code);
  }
  return found;
}

/** Zones with two names, by the older one, which Chromium uses for both; other browsers keep the given one. */
const olderNames: Readonly<Record<string, string>> = {
  "Africa/Asmara": "Africa/Asmera",
  "America/Argentina/Buenos_Aires": "America/Buenos_Aires",
  "America/Argentina/Catamarca": "America/Catamarca",
  "America/Argentina/Cordoba": "America/Cordoba",
  "America/Argentina/Jujuy": "America/Jujuy",
  "America/Argentina/Mendoza": "America/Mendoza",
  "America/Atikokan": "America/Coral_Harbour",
  "America/Indiana/Indianapolis": "America/Indianapolis",
  "America/Kentucky/Louisville": "America/Louisville",
  "America/Nuuk": "America/Godthab",
  "Asia/Ho_Chi_Minh": "Asia/Saigon",
  "Asia/Kathmandu": "Asia/Katmandu",
  "Asia/Kolkata": "Asia/Calcutta",
  "Asia/Yangon": "Asia/Rangoon",
  "Atlantic/Faroe": "Atlantic/Faeroe",
  "Europe/Kyiv": "Europe/Kiev",
  "Pacific/Chuuk": "Pacific/Truk",
  "Pacific/Kanton": "Pacific/Enderbury",
  "Pacific/Pohnpei": "Pacific/Ponape",
};

/** One name for a zone that has several. */
function shownZone(timeZone: string): string {
  try {
    const name = new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone;
    return olderNames[name] ?? name;
  } catch {
    return timeZone;
  }
}

const regionNames = new Intl.DisplayNames("en", { type: "region", fallback: "code" });

/** `DE` as Germany; a text that is no code as it is. */
export function countryName(code: string): string {
  try {
    return regionNames.of(code.toUpperCase()) ?? code;
  } catch {
    return code;
  }
}

// Time zones that ClickHouse is sent: by which names, and how many. The engine keeps a table of some 5 MB for each
// name, until it ends, and opens files for names of its own making: it gets the names of this list only.

import { memoryHere } from "../../core/machine.ts";
import { wordsIn } from "../../core/words.ts";
import { engineBounds } from "../embedded/engine_config.ts";
import { clickhouseLimits } from "./limits.ts";

/**
 * The canonical name, for the engine and for Temporal, of a name of the IANA time zone database, in its case; undefined
 * for any other text.
 */
export function toEngineZone(name: string): string | undefined {
  const zone = findZone(name);
  return zone?.name === name ? zone.engineName : undefined;
}

/** As toEngineZone(), in any case: earlier versions stored zones so. */
export const findEngineZone = (name: string): string | undefined => findZone(name)?.engineName;

/** The canonical name of a stored zone; UTC when it is none. */
export const readStoredZone = (name: string): string => findEngineZone(name) ?? "UTC";

export type EngineZones = ReturnType<typeof openEngineZones>;

/**
 * Counts the zones that an engine was sent. What it has is free for all; a project may add its own zone and three more,
 * until the engine has as many as its memory allows. At most half of these are not the own zone of a project, so that
 * queries always find room for that.
 */
export function openEngineZones(zonesMax: number) {
  const sent = new Set(["UTC"]);
  const added = new Map<number, number>();
  let foreign = 0;
  return {
    /**
     * Whether the engine may be sent a zone, by its canonical name.
     * @param isOwn whether it is the project's own.
     */
    admit(project_id: number, zone: string, isOwn = false): boolean {
      if (sent.has(zone)) return true;
      const count = added.get(project_id) ?? 0;
      if (sent.size >= zonesMax || (!isOwn && foreign >= zonesMax / 2)) return false;
      if (count >= clickhouseLimits.zonesOfProjectMax + (isOwn ? 1 : 0)) return false;
      added.set(project_id, count + 1);
      if (!isOwn) foreign++;
      sent.add(zone);
      return true;
    },
  };
}

/** The refusal of a zone that is not admitted. */
export const tooManyZones =
  "The time zone is one too many. Until the server restarts, a project may use its own and " +
  `${clickhouseLimits.zonesOfProjectMax} others that no project uses yet, and all together as many as fit its memory.`;

/** Zones for which an embedded engine has memory. */
export function countFittingZones(memoryBytes: number = memoryHere()): number {
  const { zonesMemoryFraction, zoneBytes } = clickhouseLimits;
  return Math.floor((engineBounds(memoryBytes).serverBytes * zonesMemoryFraction) / zoneBytes);
}

/** Zones that the engine does not know yet, and those with their clock since they were made. */
const tooNew: Readonly<Record<string, string>> = { "America/Coyhaique": "America/Punta_Arenas" };

/** Names of the database beside those that the runtime lists. */
const aliases = `
  Africa/Asmera Africa/Timbuktu America/Argentina/ComodRivadavia America/Atka America/Buenos_Aires America/Catamarca
  America/Coral_Harbour America/Cordoba America/Ensenada America/Fort_Wayne America/Godthab America/Indianapolis
  America/Jujuy America/Knox_IN America/Louisville America/Mendoza America/Montreal America/Nipigon
  America/Pangnirtung America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock
  America/Thunder_Bay America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Calcutta
  Asia/Choibalsan Asia/Chongqing Asia/Chungking Asia/Dacca Asia/Harbin Asia/Istanbul Asia/Kashgar Asia/Katmandu
  Asia/Macao Asia/Rangoon Asia/Saigon Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Atlantic/Faeroe
  Atlantic/Jan_Mayen Australia/ACT Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North
  Australia/Queensland Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna
  Brazil/Acre Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern
  Canada/Mountain Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental
  Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT-0 Etc/GMT0 Etc/Greenwich Etc/UCT
  Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kiev Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod
  Europe/Zaporozhye GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein
  Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Enderbury
  Pacific/Johnston Pacific/Ponape Pacific/Samoa Pacific/Truk Pacific/Yap Poland Portugal ROC ROK Singapore Turkey UCT
  US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
  US/Mountain US/Pacific US/Samoa Universal W-SU WET Zulu`;

const knownZones = new Map(listZones().map((zone) => [zone.name.toLowerCase(), zone]));

function listZones(): { name: string; engineName: string }[] {
  const begin = Temporal.Instant.fromEpochMilliseconds(0);
  const listed = Intl.supportedValuesOf("timeZone").map((name) => begin.toZonedDateTimeISO(name));
  const findListed = (name: string) => listed.find((zone) => zone.equals(begin.toZonedDateTimeISO(name)))!;
  return [
    ...listed.map(({ timeZoneId: name }) => ({ name, engineName: tooNew[name] ?? name })),
    ...wordsIn<string>(aliases).map((name) => ({ name, engineName: findListed(name).timeZoneId })),
  ];
}

function findZone(name: string) {
  return name.length > clickhouseLimits.zoneCharsMax ? undefined : knownZones.get(name.toLowerCase());
}

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
  return name.length > clickhouseLimits.zoneCharsMax ? undefined : engineNames.get(name);
}

/** As toEngineZone(), for a stored name: earlier versions stored any case. A name that is none is read as UTC. */
export function readStoredZone(name: string): string {
  const engineName = toEngineZone(name);
  if (engineName !== undefined) return engineName;
  const lower = name.toLowerCase();
  for (const [known, canonical] of engineNames) if (known.toLowerCase() === lower) return canonical;
  return "UTC";
}

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

/**
 * Canonical names, each with its aliases. America/Coyhaique is too new for the engine; the other has its clock.
 */
const aliases = `
  Africa/Asmara: Africa/Asmera Africa/Bamako: Africa/Timbuktu Africa/Cairo: Egypt Africa/Tripoli: Libya America/Adak:
  America/Atka US/Aleutian America/Anchorage: US/Alaska America/Argentina/Buenos_Aires: America/Buenos_Aires
  America/Argentina/Catamarca: America/Argentina/ComodRivadavia America/Catamarca America/Argentina/Cordoba:
  America/Cordoba America/Rosario America/Argentina/Jujuy: America/Jujuy America/Argentina/Mendoza: America/Mendoza
  America/Atikokan: America/Coral_Harbour America/Chicago: CST6CDT US/Central America/Denver: America/Shiprock MST7MDT
  Navajo US/Mountain America/Detroit: US/Michigan America/Edmonton: America/Yellowknife Canada/Mountain
  America/Halifax: Canada/Atlantic America/Havana: Cuba America/Indiana/Indianapolis: America/Fort_Wayne
  America/Indianapolis US/East-Indiana America/Indiana/Knox: America/Knox_IN US/Indiana-Starke America/Iqaluit:
  America/Pangnirtung America/Jamaica: Jamaica America/Kentucky/Louisville: America/Louisville America/Los_Angeles:
  PST8PDT US/Pacific America/Manaus: Brazil/West America/Mazatlan: Mexico/BajaSur America/Mexico_City: Mexico/General
  America/New_York: EST5EDT US/Eastern America/Noronha: Brazil/DeNoronha America/Nuuk: America/Godthab America/Panama:
  EST America/Phoenix: MST US/Arizona America/Regina: Canada/Saskatchewan America/Rio_Branco: America/Porto_Acre
  Brazil/Acre America/Santiago: Chile/Continental America/Sao_Paulo: Brazil/East America/St_Johns: Canada/Newfoundland
  America/St_Thomas: America/Virgin America/Tijuana: America/Ensenada America/Santa_Isabel Mexico/BajaNorte
  America/Toronto: America/Montreal America/Nipigon America/Thunder_Bay Canada/Eastern America/Vancouver:
  Canada/Pacific America/Whitehorse: Canada/Yukon America/Winnipeg: America/Rainy_River Canada/Central
  Antarctica/McMurdo: Antarctica/South_Pole Arctic/Longyearbyen: Atlantic/Jan_Mayen Asia/Ashgabat: Asia/Ashkhabad
  Asia/Dhaka: Asia/Dacca Asia/Ho_Chi_Minh: Asia/Saigon Asia/Hong_Kong: Hongkong Asia/Jerusalem: Asia/Tel_Aviv Israel
  Asia/Kathmandu: Asia/Katmandu Asia/Kolkata: Asia/Calcutta Asia/Macau: Asia/Macao Asia/Makassar: Asia/Ujung_Pandang
  Asia/Nicosia: Europe/Nicosia Asia/Seoul: ROK Asia/Shanghai: Asia/Chongqing Asia/Chungking Asia/Harbin PRC
  Asia/Singapore: Singapore Asia/Taipei: ROC Asia/Tehran: Iran Asia/Thimphu: Asia/Thimbu Asia/Tokyo: Japan
  Asia/Ulaanbaatar: Asia/Choibalsan Asia/Ulan_Bator Asia/Urumqi: Asia/Kashgar Asia/Yangon: Asia/Rangoon
  Atlantic/Faroe: Atlantic/Faeroe Atlantic/Reykjavik: Iceland Australia/Adelaide: Australia/South Australia/Brisbane:
  Australia/Queensland Australia/Broken_Hill: Australia/Yancowinna Australia/Darwin: Australia/North Australia/Hobart:
  Australia/Currie Australia/Tasmania Australia/Lord_Howe: Australia/LHI Australia/Melbourne: Australia/Victoria
  Australia/Perth: Australia/West Australia/Sydney: Australia/ACT Australia/Canberra Australia/NSW Europe/Athens: EET
  Europe/Brussels: CET MET Europe/Chisinau: Europe/Tiraspol Europe/Dublin: Eire Europe/Istanbul: Asia/Istanbul Turkey
  Europe/Kyiv: Europe/Kiev Europe/Uzhgorod Europe/Zaporozhye Europe/Lisbon: Portugal WET Europe/London: Europe/Belfast
  GB GB-Eire Europe/Moscow: W-SU Europe/Warsaw: Poland Pacific/Auckland: NZ Pacific/Chatham: NZ-CHAT Pacific/Chuuk:
  Pacific/Truk Pacific/Yap Pacific/Easter: Chile/EasterIsland Pacific/Honolulu: HST Pacific/Johnston US/Hawaii
  Pacific/Kanton: Pacific/Enderbury Pacific/Kwajalein: Kwajalein Pacific/Pago_Pago: Pacific/Samoa US/Samoa
  Pacific/Pohnpei: Pacific/Ponape UTC: Etc/GMT Etc/GMT+0 Etc/GMT-0 Etc/GMT0 Etc/Greenwich Etc/UCT Etc/UTC
  Etc/Universal Etc/Zulu GMT GMT+0 GMT-0 GMT0 Greenwich UCT Universal Zulu
  America/Punta_Arenas: America/Coyhaique`;

const engineNames: ReadonlyMap<string, string> = readNames();

function readNames(): Map<string, string> {
  const names = new Map(Intl.supportedValuesOf("timeZone").map((name) => [name, name]));
  let canonical = "";
  for (const word of wordsIn<string>(aliases)) {
    if (word.endsWith(":")) canonical = word.slice(0, -1);
    else names.set(word, canonical);
  }
  return names;
}

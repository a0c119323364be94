// Time zones that ClickHouse is sent: by which names, and how many. The engine keeps a table of some 5 MB for each
// name, until it ends, and opens files for names of its own making: it gets the names of this list only.

import { memoryHere } from "../../core/machine.ts";
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

/** Variant of toEngineZone(), in any case: earlier versions stored zones so. */
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
    /** Whether the engine may be sent a zone, by its canonical name. @param isOwn whether it is the project's own. */
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

export const tooManyZones =
  "The time zone is one too many. Until the server restarts, a project may use its own and " +
  `${clickhouseLimits.zonesOfProjectMax} others that no project uses yet, and all together as many as fit its memory.`;

export function countFittingZones(memoryBytes: number = memoryHere()): number {
  const { zonesMemoryFraction, zoneBytes } = clickhouseLimits;
  return Math.floor((engineBounds(memoryBytes).serverBytes * zonesMemoryFraction) / zoneBytes);
}

/** Zones that the engine does not know yet, and those with their clock since they were made. */
const tooNew: Readonly<Record<string, string>> = { "America/Coyhaique": "America/Punta_Arenas" };

const canonicalNames: ReadonlySet<string> = new Set(Intl.supportedValuesOf("timeZone"));

/** The name in the database's case, and the engine's. An offset like +01:00 is equal to none of the database. */
function findZone(name: string) {
  const zone = name.length > clickhouseLimits.zoneCharsMax ? undefined : readZone(name);
  const id = zone?.timeZoneId ?? "";
  // A moment with a zone is one to the runtime, too.
  if (!zone || id.toLowerCase() !== name.toLowerCase()) return undefined;
  const isSame = (canonical: string) => readZone(canonical)?.equals(zone);
  const canonical = canonicalNames.has(id) ? id : canonicalNames.values().find(isSame);
  return canonical === undefined ? undefined : { name: id, engineName: tooNew[canonical] ?? canonical };
}

function readZone(name: string): Temporal.ZonedDateTime | undefined {
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
  } catch {
    return undefined;
  }
}

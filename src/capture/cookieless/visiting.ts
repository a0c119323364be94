// What a request's cookieless events need; refuses the request before any of it is kept when that is missing.

import type { ProjectKeys } from "../../access/project_keys.ts";
import { Fault } from "../../core/fault.ts";
import type { EventIndex } from "../scan/event_index.ts";
import type { Salts } from "./salts.ts";
import { type Visiting, holdsVisits, mayHoldVisits } from "./visit.ts";

export interface VisitingOptions {
  keys: ProjectKeys;
  salts: Salts;
}

/**
 * `received`: when the request arrived, in microseconds since 1970.
 * @throws Fault unavailable when the scanned body holds cookieless events and a day's salt is missing.
 */
export function visitingOf(
  { keys, salts }: VisitingOptions,
  project_id: number,
  received: number,
  index: EventIndex,
  address: Visiting["address"] = () => undefined,
): Visiting {
  const { enabled, timezone } = keys.cookieless(project_id);
  const visiting = { enabled, timezone, salts: salts.days, address };
  // Nearly always all salts are there, and no entry has to be looked at.
  if (!enabled || salts.isWhole(received / 1000)) return visiting;
  if (!(index.isPartial ? mayHoldVisits(index.bytes) : holdsVisits(index, index.count))) return visiting;
  const detail = "Events of visitors without a cookie cannot be taken right now. Send them again later.";
  throw new Fault("unavailable", detail, { retryAfterSeconds: 5 });
}

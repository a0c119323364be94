// The thing that a path names: its id, and the refusal when there is no such thing.

import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";

export function notFound(detail = "Not found."): Fault {
  return new Fault("not_found", detail);
}

/** @throws Fault not_found with this detail when nothing was found. */
export function present<Found>(found: Found | undefined, detail?: string): Found {
  if (found === undefined) throw notFound(detail);
  return found;
}

/** The number of a row. @throws Fault not_found for what can be no 32-bit id. */
export function rowIdOf(param: string, detail?: string): number {
  const id = /^[1-9]\d{0,9}$/.test(param) ? Number(param) : Infinity;
  if (id > 2_147_483_647) throw notFound(detail);
  return id;
}

/** A UUID in small letters. @throws Fault not_found for what is none. */
export function uuidOf(param: string, detail?: string): string {
  if (!isUuid(param)) throw notFound(detail);
  return param.toLowerCase();
}

/** The insight that a path names: digits are its id, anything else its short id. @throws Fault not_found */
export function insightNameOf(param: string): number | string {
  if (/^\d*$/.test(param)) return rowIdOf(param);
  if (!/^[0-9A-Za-z]{8,12}$/.test(param)) throw notFound();
  return param;
}

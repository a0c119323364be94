// The number of a row in a path. Never asks whether there is one.

import { Fault } from "../core/fault.ts";

/** @throws Fault not_found for what can be no 32-bit id. */
export function rowIdOf(param: string): number {
  const id = /^[1-9]\d{0,9}$/.test(param) ? Number(param) : Infinity;
  if (id > 2_147_483_647) throw new Fault("not_found", "Not found.");
  return id;
}

// Refuses what is wrong in a query.

import { Fault } from "../core/fault.ts";

/** @throws Fault invalid_input always, named by `attr`. */
export function refuseInput(detail: string, attr: string): never {
  throw new Fault("invalid_input", detail, { attr });
}

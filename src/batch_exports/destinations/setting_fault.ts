// Refusals of a destination's settings, in PostHog's words.

import { Fault } from "../../core/fault.ts";

export function wrong(detail: string, attr = "destination__non_field_errors"): Fault {
  return new Fault("invalid_input", detail, { attr });
}

export function wrongValue(name: string, complaint: string): Fault {
  const detail = `Configuration has invalid value for field '${name}': ${complaint}`;
  return wrong(detail, `destination__config__${name}`);
}

export function missing(name: string): Fault {
  return wrong(`Configuration missing required field: '${name}'`);
}

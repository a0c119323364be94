// Reads an Azure connection string, as the portal shows it, into the fields of a destination.

import { Fault } from "../../../core/fault.ts";
import type { Settings } from "../config.ts";

const defaultSuffix = "core.windows.net";

/**
 * The configuration with the parts of `connection_string`; fields that are given as well win.
 * @throws Fault for a text without account and key.
 */
export function withoutConnectionString(given: Settings): Settings {
  const { connection_string, ...rest } = given;
  if (connection_string === undefined || connection_string === null) return rest;
  if (typeof connection_string !== "string") throw wrong("not a text");
  const parts = new Map(connection_string.split(";").map(pairOf));
  const account_name = parts.get("accountname");
  const account_key = parts.get("accountkey");
  if (!account_name || !account_key) throw wrong("it must hold AccountName and AccountKey");
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  const suffix = parts.get("endpointsuffix") ?? defaultSuffix;
  const usual = protocol === "https" && suffix === defaultSuffix;
  const address = usual ? null : `${protocol}://${account_name}.blob.${suffix}`;
  return { account_name, account_key, endpoint_url: parts.get("blobendpoint") ?? address, ...rest };
}

/** Keys end in equals signs of their own. */
function pairOf(part: string): [string, string] {
  const at = part.indexOf("=");
  return [part.slice(0, Math.max(0, at)).trim().toLowerCase(), part.slice(at + 1).trim()];
}

function wrong(complaint: string): Fault {
  const detail = `Configuration has invalid value for field 'connection_string': ${complaint}`;
  return new Fault("invalid_input", detail, { attr: "destination__config__connection_string" });
}

// The settings of an Azure container; connection strings, as Azure's portal shows them, are read into fields.

import { endpoint, files, prefix, required, type Settings, type ValuesOf, wrongValue } from "../fields.ts";
import * as rules from "../value.ts";

export const azureFields = {
  account_name: { ...required, isTarget: true, rule: rules.accountName },
  account_key: { ...required, secret: true, rule: rules.base64 },
  container_name: { ...required, rule: rules.containerName },
  prefix: { ...prefix, rule: rules.containerPrefix },
  /** null: https://<account_name>.blob.core.windows.net */
  endpoint_url: endpoint,
  ...files,
} as const;

export type AzureBlobConfig = ValuesOf<typeof azureFields>;

const defaultSuffix = "core.windows.net";

/**
 * The configuration with the parts of `connection_string`; fields that are set as well win.
 * @throws Fault for a text without account and key.
 */
export function withoutConnectionString(given: Settings): Settings {
  const { connection_string, ...rest } = given;
  if (connection_string === undefined || connection_string === null) return rest;
  if (typeof connection_string !== "string") throw wrongValue("connection_string", "not a text");
  const parts = new Map(connection_string.split(";").map(parsePair));
  const account_name = parts.get("accountname");
  const account_key = parts.get("accountkey");
  if (!account_name || !account_key)
    throw wrongValue("connection_string", "it must contain AccountName and AccountKey");
  const protocol = parts.get("defaultendpointsprotocol") ?? "https";
  const suffix = parts.get("endpointsuffix") ?? defaultSuffix;
  const usual = protocol === "https" && suffix === defaultSuffix;
  const address = usual ? null : `${protocol}://${account_name}.blob.${suffix}`;
  return { account_name, account_key, endpoint_url: parts.get("blobendpoint") ?? address, ...rest };
}

/** Keys end in equals signs of their own. */
function parsePair(part: string): [string, string] {
  const at = part.indexOf("=");
  return [part.slice(0, Math.max(0, at)).trim().toLowerCase(), part.slice(at + 1).trim()];
}

// The settings of an Azure container, into which connection strings are read, as Azure's portal shows them. Requests to
// it: address, signature, and errors, which show the status and known codes only.

import { createHmac } from "node:crypto";
import type { ForeignAnswer } from "../../../access/post.ts";
import { withoutLast } from "../../../core/trim.ts";
import { wordsIn } from "../../../core/words.ts";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import type { ExportServices, ExportWork } from "../../source/statements.ts";
import { endpoint, files, prefix, required, type Settings, type ValuesOf, wrongValue } from "../fields.ts";
import { postRepeatedly } from "../post.ts";
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
export function withoutConnectionString(settings: Settings): Settings {
  const { connection_string, ...rest } = settings;
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

export interface AzureRequest {
  key: string;
  query: Record<string, string>;
  /** Headers beside those of every request; their names begin with x-ms-. */
  headers: Record<string, string>;
  body: Uint8Array;
  method?: "PUT" | "DELETE";
}

type Work = Pick<ExportServices, "addresses" | "clock"> & Pick<ExportWork, "abort">;

const version = "2021-08-06";
const contentType = "application/octet-stream";

/** Sends a request, a PUT by default, until it is accepted. @throws ExportError with the answer's status and code. */
export async function send(config: AzureBlobConfig, request: AzureRequest, work: Work): Promise<void> {
  const url = buildUrl(config, request);
  const headers = () => signed(config, url, request, new Date(work.clock.now()).toUTCString());
  const posting = {
    ...work,
    method: request.method ?? "PUT",
    timeoutMs: exportLimits.storeRequestMsMax,
  } as const;
  await postRepeatedly(url, request.body, headers, posting, refusal);
}

function azureAddress({ account_name, endpoint_url }: AzureBlobConfig): string {
  if (endpoint_url === null) return `https://${account_name}.blob.core.windows.net`;
  return withoutLast(endpoint_url, "/");
}

function buildUrl(config: AzureBlobConfig, { key, query }: AzureRequest): URL {
  const steps = key.split("/");
  // Such steps would leave the container, since URLs are normalized before they are sent.
  if (steps.some((step) => step === "." || step === ".."))
    throw new ExportError('A prefix must not hold "." or ".." as a step', true);
  const path = [config.container_name, ...steps].map(encodeURIComponent).join("/");
  const url = new URL(`${azureAddress(config)}/${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

function signed(
  { account_name, account_key }: AzureBlobConfig,
  url: URL,
  { query, headers, body, method = "PUT" }: AzureRequest,
  date: string,
): Record<string, string> {
  const fields: Record<string, string> = { ...headers, "x-ms-date": date, "x-ms-version": version };
  const sorted = (members: Record<string, string>) =>
    Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const length = body.length === 0 ? "" : String(body.length);
  // Encoding, language, length, MD5, type, date, four conditions and a range; those not sent are empty.
  const standard = ["", "", length, "", contentType, "", "", "", "", "", ""];
  const text = [
    method,
    ...standard,
    ...sorted(fields).map(([name, value]) => `${name}:${value}`),
    `/${account_name}${url.pathname}`,
    ...sorted(query).map(([name, value]) => `${name}:${value}`),
  ].join("\n");
  const signature = createHmac("sha256", Buffer.from(account_key, "base64")).update(text).digest("base64");
  return { ...fields, "content-type": contentType, authorization: `SharedKey ${account_name}:${signature}` };
}

function refusal({ host }: URL, { status, header }: ForeignAnswer, final: boolean): ExportError {
  if (status >= 300 && status < 400)
    return new ExportError(`${host} answered ${status}; redirects are not followed`, true);
  const code = header("x-ms-error-code") ?? "";
  return new ExportError(
    `${host} answered ${status}${knownCodes.has(code) ? ` ${code}` : ""}`,
    final,
    status,
  );
}

/** The error codes in Azure's documentation; other texts could be anything and are not shown. */
const knownCodes: ReadonlySet<string> = new Set(
  wordsIn(`
    AccountBeingCreated AccountIsDisabled AuthenticationFailed AuthorizationFailure AuthorizationPermissionMismatch
    AuthorizationProtocolMismatch AuthorizationServiceMismatch AuthorizationSourceIPMismatch BlobArchived
    BlobBeingRehydrated BlobImmutableDueToPolicy BlobTierInadequateForContentLength BlockCountExceedsLimit
    BlockListTooLong ContainerBeingDeleted ContainerDisabled ContainerNotFound FeatureVersionMismatch
    InsufficientAccountPermissions InternalError InvalidAuthenticationInfo InvalidBlobOrBlock InvalidBlobType
    InvalidBlockId InvalidBlockList InvalidHeaderValue InvalidInput InvalidQueryParameterValue InvalidResourceName
    InvalidUri KeyBasedAuthenticationNotPermitted LeaseIdMissing MissingRequiredHeader NoAuthenticationInformation
    OperationTimedOut OutOfRangeInput PublicAccessNotPermitted RequestBodyTooLarge ResourceNotFound ServerBusy
    UnsupportedHeader UnsupportedHttpVerb
  `),
);

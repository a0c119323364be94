// The reason of an S3 server's refusal. Its own text is not shown: only known codes, the status, or the connection's
// error.

import type { ForeignAnswer } from "../../../access/post.ts";
import { toReason } from "../../../core/log.ts";
import { wordsIn } from "../../../core/words.ts";
import { ClickHouseError } from "../../../storage/clickhouse/clickhouse.ts";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import type { ExportServices, ExportWork } from "../../source/statements.ts";
import { checkKey } from "../objects/object_key.ts";
import { post } from "../post.ts";
import type { S3Config } from "./config.ts";

type Explaining = Pick<ExportServices, "addresses"> & Pick<ExportWork, "abort">;

interface Refusal {
  sentence: string;
  /** In lower case; any one of them identifies the refusal. */
  signs: readonly string[];
  final: boolean;
}

/** Reads lines of `sentence | sign, sign`. */
function refusalsIn(text: string, final: boolean): Refusal[] {
  const lines = text.trim().split("\n");
  return lines.map((line) => {
    const [sentence = "", signs = ""] = line.split(" | ");
    return { sentence, signs: signs.split(", "), final };
  });
}

/** By S3's codes and the texts that Amazon and others send with them, since ClickHouse drops most codes. */
const knownRefusals = [
  ...refusalsIn(
    `
InvalidAccessKeyId: the access key does not exist | invalidaccesskeyid, access key id
SignatureDoesNotMatch: the secret access key is wrong | signaturedoesnotmatch, signature does not match
SignatureDoesNotMatch: the secret access key is wrong | signature doesn't match, signature we calculated does not match
AuthorizationHeaderMalformed: the region is wrong | authorizationheadermalformed, authorization header is malformed
NoSuchBucket: the bucket does not exist | nosuchbucket, bucket does not exist, no such bucket
InvalidBucketName: the bucket's name is not valid | invalidbucketname, bucket is not valid
ExpiredToken: the token has expired | expiredtoken, token has expired
InvalidToken: the token is not valid | invalidtoken, token is malformed, invalid token
AccountProblem: the account is disabled | accountproblem, allaccessdisabled
KMS: the encryption key cannot be used | kms.
EntityTooLarge: the file is too large: set max_file_size_mb | entitytoolarge
AccessDenied: Access Denied | accessdenied, access denied, forbidden, not authorized`,
    true,
  ),
  ...refusalsIn(
    `
RequestTimeTooSkewed: the clocks are apart | requesttimetooskewed, difference between the request time
SlowDown: too many requests | slowdown, reduce your request rate, toomanyrequests
ServiceUnavailable: it is not available now | serviceunavailable, service unavailable
InternalError: it failed | internalerror, internal error`,
    false,
  ),
];

const connectionFailures = refusalsIn(
  `
the connection was refused | connection refused
the connection was closed | connection reset, broken pipe, unexpected eof, connection aborted
it did not answer in time | timeout, timed out
its name does not resolve | host not found, dns error, not found address, temporary dns
its certificate is not valid | certificate, ssl exception, ssl_error
the network is unreachable | unreachable`,
  false,
);

/**
 * Explains a failed statement that writes to S3, without the server's own words.
 * @returns undefined for an error that does not concern the server.
 */
export async function explainS3(
  thrown: unknown,
  config: S3Config,
  explaining: Explaining,
): Promise<ExportError | undefined> {
  if (!(thrown instanceof ClickHouseError) || !aboutServer.has(thrown.type)) return undefined;
  const text = toReason(thrown).slice(0, exportLimits.errorCharsRead).toLowerCase();
  const isOfSocket = text.includes("poco::exception") || text.includes("e.code()");
  const failure = isOfSocket ? find(connectionFailures, text) : undefined;
  if (failure) return new ExportError(`The S3 server could not be reached: ${failure.sentence}`, false);
  const refusal = find(knownRefusals, text);
  if (refusal)
    return new ExportError(`The S3 server refused: ${refusal.sentence}${hint(config, text)}`, refusal.final);
  const reply = await repeatWrite(config, explaining).catch(() => undefined);
  const withoutBody = text.includes("no response body") ? ": No response body" : "";
  if (reply) return explainStatus(reply, withoutBody);
  return new ExportError(`The S3 server refused, without a known error code${withoutBody}`, false);
}

/** ClickHouse's errors of a server or of the connection to it. */
const aboutServer: ReadonlySet<string> = new Set(
  wordsIn(`
    S3_ERROR TOO_MANY_REDIRECTS NETWORK_ERROR SOCKET_TIMEOUT DNS_ERROR POCO_EXCEPTION STD_EXCEPTION
    HTTP_CONNECTION_LIMIT_REACHED
  `),
);

function find(refusals: readonly Refusal[], text: string): Refusal | undefined {
  return refusals.find(({ signs }) => signs.some((sign) => text.includes(sign)));
}

const usualRegion = "us-east-1";

function hint({ endpoint_url, region }: S3Config, text: string): string {
  const isSigningError = text.includes("signature") || text.includes("authorization");
  if (endpoint_url === null || region === usualRegion || !isSigningError) return "";
  return ` (ClickHouse signs for "${usualRegion}" until a server reports its region)`;
}

/** The failure by the answer to the same request, sent by this process. */
export function explainStatus({ status, header }: ForeignAnswer, withoutBody = ""): ExportError {
  if (status >= 300 && status < 400) {
    const region = header("x-amz-bucket-region") ?? "";
    const where = regionShape.test(region) ? `: the bucket is in the region ${region}` : "";
    return new ExportError(`The S3 server answered ${status}, and redirects are not followed${where}`, true);
  }
  if (status === 401 || status === 403 || status === 404) {
    return new ExportError(`The server answered ${status} without a known error code`, true);
  }
  const shown = status >= 400 ? ` with status ${status}` : "";
  return new ExportError(`The S3 server failed${shown}${withoutBody}`, false);
}

const regionShape = /^[a-z0-9-]{1,32}$/;

/**
 * The server's answer to a write with a wrong checksum, which stores nothing even when it is allowed.
 * @returns undefined where the request of ClickHouse cannot be repeated here.
 */
async function repeatWrite(config: S3Config, explaining: Explaining): Promise<ForeignAnswer | undefined> {
  const { endpoint_url, region, encryption } = config;
  const usedRegion = endpoint_url === null ? region : usualRegion;
  const address = presign(config, usedRegion, checkKey(config.prefix), "PUT");
  if (address === undefined || encryption !== null) return undefined;
  const { addresses, abort } = explaining;
  abort.throwIfAborted();
  const headers = { "content-md5": wrongSum };
  return await post(new URL(address), new Uint8Array(), headers, { addresses, abort, method: "PUT" });
}

/** The signed address of an object; undefined where requests are not signed. */
export function presign(
  config: S3Config,
  region: string,
  key: string,
  method: "PUT" | "DELETE",
): string | undefined {
  const { aws_access_key_id, aws_secret_access_key, endpoint_url, bucket_name } = config;
  if (aws_access_key_id === null || aws_secret_access_key === null) return undefined;
  const client = new Bun.S3Client({
    accessKeyId: aws_access_key_id,
    secretAccessKey: aws_secret_access_key,
    bucket: bucket_name,
    region,
    ...(endpoint_url !== null && { endpoint: endpoint_url }),
    virtualHostedStyle: config.use_virtual_style_addressing,
  });
  return client.presign(key, { method, expiresIn: exportLimits.presignSecondsMax });
}

/** A checksum that no empty body has. */
const wrongSum = Buffer.alloc(16).toString("base64");

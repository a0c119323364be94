// The reason of an S3 server's refusal. Its own text is not shown: only known codes, the status, or the connection's
// error.

import type { ForeignAnswer } from "../../../access/post.ts";
import { toReason } from "../../../core/log.ts";
import { wordsIn } from "../../../core/words.ts";
import { ClickHouseError } from "../../../storage/clickhouse/clickhouse.ts";
import { ExportError } from "../../failure.ts";
import { exportLimits } from "../../limits.ts";
import type { ExportWork } from "../../source/statements.ts";
import { checkKey } from "../objects/object_key.ts";
import { post } from "../post.ts";
import type { S3Config } from "./config.ts";

/** Keyed by S3's codes and the texts that Amazon and others send with them, since ClickHouse drops most codes. */
const refusals = `
final | InvalidAccessKeyId: the access key does not exist | invalidaccesskeyid, access key id
final | SignatureDoesNotMatch: the secret access key is wrong | signaturedoesnotmatch, signature does not match
final | SignatureDoesNotMatch: the secret access key is wrong | signature doesn't match
final | SignatureDoesNotMatch: the secret access key is wrong | signature we calculated does not match
final | AuthorizationHeaderMalformed: the region is wrong | authorizationheadermalformed
final | AuthorizationHeaderMalformed: the region is wrong | authorization header is malformed
final | NoSuchBucket: the bucket does not exist | nosuchbucket, bucket does not exist, no such bucket
final | InvalidBucketName: the bucket's name is not valid | invalidbucketname, bucket is not valid
final | ExpiredToken: the token has expired | expiredtoken, token has expired
final | InvalidToken: the token is not valid | invalidtoken, token is malformed, invalid token
final | AccountProblem: the account is disabled | accountproblem, allaccessdisabled
final | KMS: the encryption key cannot be used | kms.
final | EntityTooLarge: the file is too large: set max_file_size_mb | entitytoolarge
final | AccessDenied: Access Denied | accessdenied, access denied, forbidden, not authorized
passing | RequestTimeTooSkewed: the clocks are apart | requesttimetooskewed, difference between the request time
passing | SlowDown: too many requests | slowdown, reduce your request rate, toomanyrequests
passing | ServiceUnavailable: it is not available now | serviceunavailable, service unavailable
passing | InternalError: it failed | internalerror, internal error
socket | the connection was refused | connection refused
socket | the connection was closed | connection reset, broken pipe, unexpected eof, connection aborted
socket | it did not answer in time | timeout, timed out
socket | its name does not resolve | host not found, dns error, not found address, temporary dns
socket | its certificate is not valid | certificate, ssl exception, ssl_error
socket | the network is unreachable | unreachable`
  .trim()
  .split("\n")
  .map((line) => {
    const [kind, sentence, signs = ""] = line.split(" | ");
    // In small letters; any one of them identifies the refusal.
    return { kind, sentence, signs: signs.split(", ") };
  });

/**
 * Explains a failed statement that writes to S3, without the server's own words.
 * @returns undefined for an error that does not concern the server.
 */
export async function explainS3(
  thrown: unknown,
  config: S3Config,
  work: Pick<ExportWork, "addresses" | "abort">,
): Promise<ExportError | undefined> {
  if (!(thrown instanceof ClickHouseError) || !aboutServer.has(thrown.type)) return undefined;
  const text = toReason(thrown).slice(0, exportLimits.errorCharsRead).toLowerCase();
  const isOfSocket = text.includes("poco::exception") || text.includes("e.code()");
  const found = refusals.filter(({ signs }) => signs.some((sign) => text.includes(sign)));
  const failure = isOfSocket ? found.find(({ kind }) => kind === "socket") : undefined;
  if (failure) return new ExportError(`The S3 server could not be reached: ${failure.sentence}`, false);
  const refusal = found.find(({ kind }) => kind !== "socket");
  if (refusal) {
    const message = `The S3 server refused: ${refusal.sentence}${hint(config, text)}`;
    return new ExportError(message, refusal.kind === "final");
  }
  const reply = await repeatWrite(config, work).catch(() => undefined);
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
  if (status === 401 || status === 403 || status === 404)
    return new ExportError(`The server answered ${status} without a known error code`, true);
  const statusText = status >= 400 ? ` with status ${status}` : "";
  return new ExportError(`The S3 server failed${statusText}${withoutBody}`, false);
}

const regionShape = /^[a-z0-9-]{1,32}$/;

/**
 * The server's answer to a write with a wrong checksum, which stores nothing even when it is allowed.
 * @returns undefined where the request of ClickHouse cannot be repeated here.
 */
async function repeatWrite(config: S3Config, { addresses, abort }: Pick<ExportWork, "addresses" | "abort">) {
  const { endpoint_url, region, encryption } = config;
  const usedRegion = endpoint_url === null ? region : usualRegion;
  const address = presign(config, usedRegion, checkKey(config.prefix), "PUT");
  if (address === undefined || encryption !== null) return undefined;
  abort.throwIfAborted();
  const headers = { "content-md5": wrongSum };
  return await post(new URL(address), new Uint8Array(), headers, { addresses, abort, method: "PUT" });
}

/** The signed address of an object; undefined where requests are not signed. */
export function presign(config: S3Config, region: string, key: string, method: "PUT" | "DELETE") {
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

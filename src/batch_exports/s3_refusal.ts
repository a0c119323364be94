// Why an S3 server refused, where ClickHouse cannot tell: it says neither an answer's status nor which region it signed
// for. Never stores anything.

import type { Addresses } from "../access/address.ts";
import type { S3Config } from "./destination_config.ts";
import { DeliveryError } from "./failure.ts";
import { checkKey } from "./object_key.ts";
import { post } from "./post.ts";

export interface Explaining {
  addresses: Addresses;
  abort: AbortSignal;
}

/** An answer without a body, or with one that is not S3's. */
const saidNothing = /^(No response body\.)?, bucket /;
const wronglySigned =
  /SignatureDoesNotMatch|signature.{0,20}(does not|n't) match|AuthorizationHeaderMalformed/i;

/** The same error, or one that says more. */
export async function explainS3(
  error: DeliveryError,
  config: S3Config,
  explaining: Explaining,
): Promise<DeliveryError> {
  const { message } = error;
  if (saidNothing.test(message)) {
    const status = await statusOf(config, explaining).catch(() => undefined);
    const refused = status === 401 || status === 403 || status === 404;
    if (refused)
      return new DeliveryError(`The server answered ${status} and said no more${rest(message)}`, true);
  }
  if (config.endpoint_url !== null && config.region !== usualRegion && wronglySigned.test(message)) {
    const why = `ClickHouse signs for "${usualRegion}" until a server says which region it has`;
    return new DeliveryError(`${message} (${why})`, error.final);
  }
  return error;
}

const usualRegion = "us-east-1";

function rest(message: string): string {
  return message.slice(message.indexOf(", bucket "));
}

/**
 * What the server answers to who may write there: asked with a wrong checksum, so that it stores nothing even then.
 * @returns undefined where it cannot be asked as ClickHouse does.
 */
async function statusOf(config: S3Config, explaining: Explaining): Promise<number | undefined> {
  const { aws_access_key_id, aws_secret_access_key, endpoint_url, bucket_name, region, encryption } = config;
  if (aws_access_key_id === null || aws_secret_access_key === null || encryption !== null) return undefined;
  const client = new Bun.S3Client({
    accessKeyId: aws_access_key_id,
    secretAccessKey: aws_secret_access_key,
    bucket: bucket_name,
    region: endpoint_url === null ? region : usualRegion,
    ...(endpoint_url !== null && { endpoint: endpoint_url }),
    virtualHostedStyle: config.use_virtual_style_addressing,
  });
  const address = client.presign(checkKey(config.prefix), { method: "PUT", expiresIn: 60 });
  const headers = { "content-md5": wrongSum };
  const { status } = await post(new URL(address), new Uint8Array(), headers, {
    ...explaining,
    method: "PUT",
  });
  return status;
}

/** Of anything but nothing. */
const wrongSum = Buffer.alloc(16).toString("base64");

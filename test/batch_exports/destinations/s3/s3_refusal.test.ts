// Why an S3 server refused: said in known words only, and final where no retry can help.

import { expect, test } from "bun:test";
import type { Addresses } from "../../../../src/access/address.ts";
import { openDestination } from "../../../../src/batch_exports/destinations/destinations.ts";
import type { S3Config } from "../../../../src/batch_exports/destinations/s3/config.ts";
import { explainS3 } from "../../../../src/batch_exports/destinations/s3/s3_refusal.ts";
import { ClickHouseError } from "../../../../src/storage/clickhouse/clickhouse.ts";

const shown = { bucket_name: "b", region: "us-east-1", prefix: "" };
const keys = { aws_access_key_id: "key", aws_secret_access_key: "the secret" };
const amazon = openDestination("S3", shown, keys).config as unknown as S3Config;
/** Without keys nothing is asked again: the engine's words alone decide. */
const unsigned: S3Config = { ...amazon, aws_access_key_id: null, aws_secret_access_key: null };

const addresses: Addresses = {
  findRefusal: () => undefined,
  findResolvedRefusal: () => Promise.resolve(undefined),
  connectable: () => Promise.reject(new Error("not here")),
  lookedAt: () => Promise.reject(new Error("not here")),
};
const explaining = { addresses, abort: new AbortController().signal };

async function explained(message: string, type = "S3_ERROR", config = unsigned): Promise<[string, boolean]> {
  const error = await explainS3(new ClickHouseError(message, "499", type), config, explaining);
  return [error!.message, error!.final];
}

test("an error that does not concern the server is not explained", async () => {
  const other = new ClickHouseError("Access Denied", "241", "MEMORY_LIMIT_EXCEEDED");
  expect(await explainS3(other, unsigned, explaining)).toBeUndefined();
  expect(await explainS3(new Error("Access Denied"), unsigned, explaining)).toBeUndefined();
});

test("a wrong key, bucket or right is final; a busy server is not", async () => {
  const said: [string, string, boolean][] = [
    ["The AWS Access Key Id you provided does not exist", "InvalidAccessKeyId", true],
    ["The request signature we calculated does not match", "SignatureDoesNotMatch", true],
    ["The specified bucket does not exist", "NoSuchBucket", true],
    ["Access Denied. (secret detail 123)", "AccessDenied", true],
    ["Please reduce your request rate.", "SlowDown", false],
    ["We encountered an internal error.", "InternalError", false],
    ["The difference between the request time and the current time", "RequestTimeTooSkewed", false],
  ];
  for (const [message, code, final] of said) {
    const [text, isFinal] = await explained(message);
    expect(text).toStartWith(`The S3 server refused: ${code}`);
    expect(text).not.toContain("secret detail");
    expect(isFinal).toBe(final);
  }
});

test("a connection that breaks is no refusal, and can be tried again", async () => {
  for (const [message, why] of [
    ["Poco::Exception. Code: 1000, e.code() = 111, Connection refused", "the connection was refused"],
    ["Poco::Exception. Host not found: b.example", "its name does not resolve"],
    ["Poco::Exception. Timeout", "it did not answer in time"],
  ] as const) {
    const text = `The S3 server could not be reached: ${why}`;
    expect(await explained(message, "POCO_EXCEPTION")).toEqual([text, false]);
  }
});

test("words that are not known are not repeated", async () => {
  const [text, final] = await explained("<html>internal host 10.1.2.3</html>");
  expect([text, final]).toEqual(["The S3 server refused, without a known error code", false]);
  expect((await explained("No response body."))[0]).toEndWith(": No response body");
});

test("with an endpoint of its own, a wrong signature names the region that is signed for", async () => {
  const own: S3Config = { ...unsigned, endpoint_url: "http://minio:9000", region: "eu-1" };
  const message = "SignatureDoesNotMatch";
  expect((await explained(message, "S3_ERROR", own))[0]).toContain(`signs for "us-east-1"`);
  expect((await explained(message))[0]).not.toContain("signs for");
  expect((await explained("NoSuchBucket", "S3_ERROR", own))[0]).not.toContain("signs for");
});

test("a server that cannot be reached again leaves the failure retryable", async () => {
  const [text, final] = await explained("words of its own", "S3_ERROR", amazon);
  expect([text, final]).toEqual(["The S3 server refused, without a known error code", false]);
});

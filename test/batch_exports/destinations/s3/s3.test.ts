// How an S3 destination is said to ClickHouse.

import { expect, test } from "bun:test";
import { openDestination } from "../../../../src/batch_exports/destinations/destinations.ts";
import type { S3Config } from "../../../../src/batch_exports/destinations/s3/config.ts";
import { s3Host, s3Store } from "../../../../src/batch_exports/destinations/s3/s3.ts";

function config(settings: Partial<S3Config>): S3Config {
  const shown = { bucket_name: "b", region: "eu-west-1", prefix: "", ...settings };
  return openDestination("S3", shown, { aws_access_key_id: "key", aws_secret_access_key: "the secret" })
    .config as unknown as S3Config;
}

function urlOf(settings: Partial<S3Config>, key = "f/k"): unknown {
  return s3Store(config(settings)).file(key, "Parquet", "x String", "none").params["url"];
}

test("the bucket is in the path, or in the host where configured", () => {
  expect(urlOf({})).toBe("https://s3.eu-west-1.amazonaws.com/b/f/k");
  expect(urlOf({ region: "cn-north-1" })).toBe("https://s3.cn-north-1.amazonaws.com.cn/b/f/k");
  expect(urlOf({ endpoint_url: "http://minio:9000/sub/" })).toBe("http://minio:9000/sub/b/f/k");
  expect(urlOf({ use_virtual_style_addressing: true })).toBe("https://b.s3.eu-west-1.amazonaws.com/f/k");
  const spaces = { endpoint_url: "https://nyc3.example.com", use_virtual_style_addressing: true };
  expect(urlOf(spaces)).toBe("https://b.nyc3.example.com/f/k");
  expect(() => urlOf(spaces, "k")).toThrow("needs a prefix");
  expect(s3Host(config(spaces))).toBe("b.nyc3.example.com");
});

test("no secret stands in the text of a statement, and nothing of the key does", () => {
  const { text, params } = s3Store(config({})).file("a'b", "Parquet", "x String", "none");
  expect(text).not.toMatch(/secret"|the secret|a'b/);
  expect(params["secret_key"]).toBe("the secret");
});

test("without keys requests are not signed", () => {
  const bare = { ...config({}), aws_access_key_id: null, aws_secret_access_key: null };
  const { text, params } = s3Store(bare).file("k", "Parquet", "x String", "none");
  expect(text).toContain("NOSIGN");
  expect(Object.keys(params)).not.toContain("secret_key");
});

// The life of a run.

import { expect, test } from "bun:test";
import { shownFailure } from "../../../src/batch_exports/failure.ts";
import { backoffMs } from "../../../src/batch_exports/runs/run.ts";
import { ClickHouseError } from "../../../src/storage/clickhouse/clickhouse.ts";

test("waits double up to their bound", () => {
  expect([1, 2, 3, 4, 20].map((failures) => backoffMs(failures, 10, 60))).toEqual([10, 20, 40, 60, 60]);
});

test("errors of ClickHouse are permanent or temporary, and show no secrets", () => {
  const s3 = (text: string) =>
    shownFailure(
      new ClickHouseError(`Code: 499. DB::Exception: Message: ${text} (S3_ERROR)`, "499", "S3_ERROR"),
      ["hush-hush"],
    );
  expect(s3("The AWS Access Key Id you provided does not exist in our records., bucket b")).toMatchObject({
    final: true,
    message: "The AWS Access Key Id you provided does not exist in our records., bucket b",
  });
  expect(s3("Access Denied, key hush-hush").message).toBe("Access Denied, key [hidden]");
  const refused =
    "Poco::Exception. Code: 1000, e.code() = 111, Connection refused (version 26.7.2.1), bucket b";
  expect(s3(refused)).toMatchObject({ final: false, message: "Connection refused, bucket b" });
  expect(s3("Please reduce your request rate.").final).toBeFalse();
  expect(
    shownFailure(new ClickHouseError("ClickHouse: socket hang up", "ECONNRESET", "NETWORK"), []).final,
  ).toBeFalse();
});

// Which errors of the engine are the statement's, and which another moment would not have.

import { expect, test } from "bun:test";
import { storeFault } from "../../../src/http/store_fault.ts";
import { SqlFailure, throwSqlFailure } from "../../../src/query/store.ts";
import {
  busyErrors,
  ClickHouseError,
  describeExcess,
  isOfServer,
} from "../../../src/storage/clickhouse/error.ts";

test.each([...busyErrors])("%s is busy, in SQL and elsewhere", (type) => {
  const error = new ClickHouseError("x", "745", type);
  expect(() => throwSqlFailure(error)).toThrow(error);
  expect(storeFault(error)?.code).toBe("unavailable");
});

test("what a statement says wrong is its own", () => {
  const error = new ClickHouseError("x", "53", "TYPE_MISMATCH");
  expect(isOfServer(error)).toBe(false);
  expect(() => throwSqlFailure(error)).toThrow(SqlFailure);
  expect(isOfServer(new ClickHouseError("x", "ECONNREFUSED", "NETWORK"))).toBe(true);
});

test("what needs too much memory says how much, in the engine's words", () => {
  const sentence =
    "Query memory limit exceeded: would use 360.40 MiB (attempt to allocate chunk of 8.00 MiB), maximum: 352.00 MiB. ";
  const error = (message: string) => new ClickHouseError(message, "241", "MEMORY_LIMIT_EXCEEDED");
  expect(describeExcess(error(sentence))).toBe("needs too much memory, 360.40 MiB or more");
  expect(describeExcess(error("Query memory limit exceeded"))).toBe("needs too much memory");
});

// Which errors of the engine are the statement's, and which another moment would not have.

import { expect, test } from "bun:test";
import { storeFault } from "../../../src/http/store_fault.ts";
import { SqlFailure, throwSqlFailure } from "../../../src/query/store.ts";
import { busyErrors, ClickHouseError, isOfServer } from "../../../src/storage/clickhouse/error.ts";

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

import { expect, test } from "bun:test";
import { chdbServerLimits } from "../../../src/storage/chdb_server/limits.ts";
import { clickhouseLimits } from "../../../src/storage/clickhouse/limits.ts";
import { withShortParams } from "../../../src/storage/clickhouse/short_params.ts";

const bound = clickhouseLimits.clickhouseParamBytesMax;

test("short parameters stay as they are", () => {
  const text = "SELECT {a:String}, {b:Array(String)}, {n:UInt8}";
  const params = { a: "x".repeat(bound / 3), b: ["x", "y"], n: 1 };
  const short = withShortParams(text, params);
  expect(short.text).toBe(text);
  expect(short.params).toBe(params);
});

test("a long list becomes several, in order, wherever it stands, and others are left alone", () => {
  const ids = Array.from({ length: 1000 }, (_, i) => `${i}-${"é".repeat(195)}`);
  const text =
    "x IN {ids:Array(String)} AND y IN (SELECT arrayJoin({ids:Array(String)})) AND {id:String} = 'é'";
  const short = withShortParams(text, { ids, id: "a" });
  const names = Object.keys(short.params).filter((name) => name !== "id");
  expect(names.length).toBeGreaterThan(2);
  expect(names.flatMap((name) => short.params[name] as string[])).toEqual(ids);
  for (const name of names) {
    expect(Buffer.byteLength(JSON.stringify(short.params[name]))).toBeLessThanOrEqual(bound);
  }
  const joined = `arrayConcat(${names.map((name) => `{${name}:Array(String)}`).join(", ")})`;
  expect(short.text).toBe(`x IN ${joined} AND y IN (SELECT arrayJoin(${joined})) AND {id:String} = 'é'`);
  expect(short.params["id"]).toBe("a");
});

test("a long text becomes several, and no letter is torn", () => {
  for (const before of ["", "x"]) {
    const content = before + "😀".repeat(bound / 2);
    const { text, params } = withShortParams("SELECT {content:String} AS line", { content });
    const parts = Object.values(params) as string[];
    expect(parts.join("")).toBe(content);
    expect(parts.every((part) => part.isWellFormed() && Buffer.byteLength(part) <= bound)).toBe(true);
    expect(text).toBe(`SELECT concat(${parts.map((_, i) => `{content__${i}:String}`).join(", ")}) AS line`);
  }
});

test("what cannot be cut, and numbers, go as they are", () => {
  const one = ["x".repeat(bound)];
  expect(withShortParams("{one:Array(String)}", { one })).toEqual({
    text: "{one:Array(String)}",
    params: { one },
  });
  const hashes = Array.from({ length: 20_000 }, (_, i) => BigInt(i));
  const { params } = withShortParams("x IN {hashes:Array(UInt64)}", { hashes });
  expect(Object.values(params).flat()).toEqual(hashes);
  expect(Object.keys(params).length).toBeGreaterThan(1);
});

test("the bound is below what ClickHouse refuses", () => {
  expect(bound).toBeLessThan(chdbServerLimits.paramBytesMax);
});

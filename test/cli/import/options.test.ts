import { expect, test } from "bun:test";
import { readImportOptions } from "../../../src/cli/import/options.ts";
import { readConfig } from "../../../src/config.ts";
import { UserError } from "../../../src/core/fault.ts";

const config = readConfig({ PORT: "9000", BOOTSTRAP_PROJECT_API_KEY: "phc_config00" });

test("a file alone takes everything else from the configuration", () => {
  expect(readImportOptions(["a.jsonl"], config)).toEqual({
    files: ["a.jsonl"],
    host: "http://127.0.0.1:9000",
    apiKey: "phc_config00",
    format: "auto",
    dates: "refused",
    concurrency: 4,
    state: "a.jsonl.sluice-import",
    dryRun: false,
    wait: true,
    json: false,
  });
});

test("every option is read", () => {
  const words =
    "- b --host https://x.example/in/ --api-key k --format csv --dates day-first --concurrency 9 --state s --no-wait --dry-run --json";
  expect(readImportOptions(words.split(" "), config)).toEqual({
    files: ["-", "b"],
    host: "https://x.example/in",
    apiKey: "k",
    format: "csv",
    dates: "day-first",
    concurrency: 9,
    state: "s",
    dryRun: true,
    wait: false,
    json: true,
  });
});

test("standard input has no checkpoint beside it, and a dry run needs no key", () => {
  const options = readImportOptions(["-", "--dry-run"], readConfig({}));
  expect(options).toMatchObject({ files: ["-"], state: undefined, apiKey: "" });
});

test.each([
  [[], "name at least one FILE"],
  [["a", "--what"], "Unknown option '--what'"],
  [["a", "--host"], "Option '--host <value>' argument missing"],
  [["a", "--host", "ftp://x"], "--host: expected an http:// or https:// URL"],
  [["a", "--host", "x"], "--host: expected an http:// or https:// URL"],
  [["a", "--format", "xml"], "--format: expected one of auto, jsonl"],
  [["a", "--dates", "dmy"], "--dates: expected day-first or month-first"],
  [["a", "--concurrency", "0"], "--concurrency: expected a whole number from 1 to 32"],
  [["a", "--concurrency", "33"], "--concurrency: expected a whole number from 1 to 32"],
  [["a", "b", "a"], "a is named twice"],
  [["a", "--state", "a"], "--state names a file that is to be imported"],
])("%p is wrong use", (words, message) => {
  try {
    readImportOptions(words, config);
    throw new Error("it was taken");
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(UserError);
    expect((thrown as UserError).exitCode).toBe(2);
    expect((thrown as UserError).message).toStartWith(message);
  }
});

test("a missing key is wrong use", () => {
  expect(() => readImportOptions(["a"], readConfig({}))).toThrow("set the project's key with --api-key");
});

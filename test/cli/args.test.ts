import { expect, test } from "bun:test";
import { checkPositionals, optionalText, readArguments, requiredText } from "../../src/cli/args.ts";
import { UserError } from "../../src/core/fault.ts";
import { runSluice } from "../support/server.ts";

function complaint(work: () => unknown): UserError {
  try {
    work();
  } catch (reason) {
    if (reason instanceof UserError) return reason;
    throw reason;
  }
  throw new Error("expected a complaint");
}

test("options with values, flags and other words are distinguished", () => {
  const words = readArguments(["create", "--name", " Web shop ", "--json"], ["name"], ["json"]);
  expect(words.positionals).toEqual(["create"]);
  expect(optionalText(words, "name")).toBe("Web shop");
  expect(words.values["json"]).toBe(true);
  expect(optionalText(readArguments(["--name=x"], ["name"]), "name")).toBe("x");
});

test("an unknown option and a missing value are wrong use, said in one sentence", () => {
  for (const args of [["--colour", "red"], ["--name"], ["--json=1"], ["-x"]]) {
    const { exitCode, message } = complaint(() => readArguments(args, ["name"], ["json"]));
    expect(exitCode).toBe(2);
    expect(message).not.toContain("\n");
    expect(message.length).toBeGreaterThan(5);
  }
});

test("an absent or blank required option is wrong use", () => {
  expect(complaint(() => requiredText(readArguments([], ["name"]), "name")).message).toBe(
    "--name is missing",
  );
  expect(complaint(() => requiredText(readArguments(["--name", " "], ["name"]), "name")).exitCode).toBe(2);
});

test("a word too many is named", () => {
  const words = readArguments(["list", "all"], []);
  expect(complaint(() => checkPositionals(words, 1)).message).toBe('unexpected argument "all"');
});

test("without a command the usage is printed as an error, with --help as the output", async () => {
  const silent = await runSluice([], {});
  expect([silent.exitCode, silent.stdout]).toEqual([2, ""]);
  expect(silent.stderr).toContain("usage: bun run sluice <command>");
  const asked = await runSluice(["--help"], {});
  expect([asked.exitCode, asked.stderr]).toEqual([0, ""]);
  expect(asked.stdout).toContain("usage: bun run sluice <command>");
});

import { expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { endAll } from "../../src/work/interval.ts";

function workerThat(close: () => Promise<void>) {
  return { start: () => {}, close };
}

test("work ends together, and what does not end in time is left and logged", async () => {
  const ended: string[] = [];
  const logged: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void logged.push(message) };
  const quick = workerThat(async () => void ended.push("quick"));
  await endAll([quick, quick], 60_000, log);
  expect([ended, logged]).toEqual([["quick", "quick"], []]);
  await endAll([workerThat(() => new Promise(() => {})), quick], 1, log);
  expect([ended.length, logged]).toEqual([3, ["work in the background did not end in time"]]);
});

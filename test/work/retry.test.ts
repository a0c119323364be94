import { expect, test } from "bun:test";
import { silentLog } from "../../src/core/log.ts";
import { retryUntilDone } from "../../src/work/retry.ts";

function listening() {
  const said: [string, unknown][] = [];
  const say = (level: string) => (text: string, about?: Record<string, unknown>) =>
    void said.push([`${level}: ${text}`, about]);
  return { said, log: { ...silentLog, warn: say("warn"), debug: say("debug") } };
}

test("a step is tried until it succeeds; the first failure is a warning, the next ones are not", async () => {
  const { said, log } = listening();
  const stopping = new AbortController();
  let tries = 0;
  const step = () => (++tries < 3 ? Promise.reject(new Error(`try ${tries}`)) : Promise.resolve("done"));
  const how = { stopping: stopping.signal, log, failure: "it waits", about: { lane: "live" } };
  expect(await retryUntilDone(step, how)).toBe("done");
  expect(said).toEqual([
    ["warn: it waits", { lane: "live", attempt: 0, reason: "try 1" }],
    ["debug: it waits", { lane: "live", attempt: 1, reason: "try 2" }],
  ]);
});

test("told to stop, it ends its pause and tries no more", async () => {
  const { log } = listening();
  const stopping = new AbortController();
  let tries = 0;
  const step = () => {
    if (++tries === 3) queueMicrotask(() => stopping.abort());
    return Promise.reject(new Error("never"));
  };
  expect(await retryUntilDone(step, { stopping: stopping.signal, log, failure: "it waits" })).toBeUndefined();
  expect(tries).toBe(3);
  expect(await retryUntilDone(step, { stopping: stopping.signal, log, failure: "it waits" })).toBeUndefined();
  expect(tries).toBe(3);
});

// A child process: started, watched, started again when it dies, and ended with its owner. The children are shells.

import { expect, test } from "bun:test";
import { UserError } from "../../../src/core/fault.ts";
import { type ChildPlan, startChild } from "../../../src/storage/embedded/child.ts";

interface Line {
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

function planOf(script: string, more: Partial<ChildPlan> = {}): { plan: ChildPlan; lines: Line[] } {
  const lines: Line[] = [];
  const write =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      void lines.push({ level, message, fields });
  const log = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const plan: ChildPlan = {
    name: "the child",
    command: () => ["sh", "-c", script],
    ready: async (_, out) => {
      if ((await out.next()).value !== "ready") await new Promise(() => {});
    },
    kill: () => {},
    log: log as never,
    ...more,
  };
  return { plan, lines };
}

/** Ends with its standard input, as a store does. */
const living = "echo ready; cat >/dev/null";
const until = async (isThere: () => boolean) => {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test("a child is there when it says so, and ends with its standard input", async () => {
  const { plan, lines } = planOf(living);
  const child = await startChild(plan);
  await Promise.all([child.stop(), child.stop()]);
  expect(lines).toEqual([]);
});

test("a child that cannot start fails the start with its last words", async () => {
  const { plan } = planOf("echo 'no room' >&2; echo 'giving up' >&2; exit 3");
  const failed: unknown = await startChild(plan).catch((reason: unknown) => reason);
  expect(failed).toBeInstanceOf(UserError);
  expect((failed as Error).message).toBe("the child did not start: no room; giving up");
  const silent: unknown = await startChild(planOf("exit 3").plan).catch((reason: unknown) => reason);
  expect((silent as Error).message).toBe("the child did not start: it exited with code 3");
});

test("of its last words so many lines are known, each cut where it is long", async () => {
  const { plan } = planOf(
    "for i in $(seq 30); do echo line$i >&2; done; head -c 2500 /dev/zero | tr '\\0' x >&2; exit 1",
  );
  const failed = (await startChild(plan).catch((reason: unknown) => reason)) as Error;
  const words = failed.message.replace("the child did not start: ", "").split("; ");
  expect(words.length).toBe(20);
  expect(words.every((one) => one.length <= 1000)).toBe(true);
  expect(words.some((one) => one.startsWith("line30"))).toBe(true);
  expect(words).not.toContain("line1");
});

test("what a child is told first stands in its first line, and its environment and folder are its own", async () => {
  const { plan } = planOf('read first; echo "$first $NAME $(pwd)"; cat >/dev/null', {
    firstLine: "secret",
    env: { NAME: "own", PATH: process.env["PATH"]! },
    cwd: "/",
    ready: async (_, out) => expect((await out.next()).value).toBe("secret own /"),
  });
  await (await startChild(plan)).stop();
});

test("a child that dies is started again, and what it said last is in the log", async () => {
  let lives = 0;
  const { plan, lines } = planOf("", {
    command: () => ["sh", "-c", ++lives === 1 ? "echo ready; echo 'out of memory' >&2; exit 9" : living],
  });
  const child = await startChild(plan);
  await until(() => lines.some(({ message }) => message === "the child is back"));
  expect(lines.find(({ level }) => level === "warn")).toEqual({
    level: "warn",
    message: "the child died; restarting",
    fields: { code: 9, last_words: "out of memory" },
  });
  await child.stop();
  expect(lives).toBe(2);
});

test("a child that is restarted ends, by a kill where it ignores its end, and another one is started", async () => {
  const { plan, lines } = planOf("trap '' TERM; echo ready; while :; do sleep 1; done", { stopMsMax: 50 });
  const child = await startChild(plan);
  const before = child.pid;
  await Promise.all([child.restart("it hangs"), child.restart("again")]);
  expect(child.pid).toBeUndefined();
  await until(() => child.pid !== undefined);
  expect(child.pid).not.toBe(before);
  await child.stop();
  await child.restart("it was stopped");
  expect(child.pid).toBeUndefined();
  expect(lines.map(({ message, fields }) => [message, fields["reason"]])).toEqual([
    ["the child is restarted", "it hangs"],
    ["the child did not stop; killing it", undefined],
    ["the child is back", undefined],
    ["the child did not stop; killing it", undefined],
  ]);
});

test("without insisting a start goes on in the background, and says why it is not there yet", async () => {
  let lives = 0;
  const { plan, lines } = planOf("", {
    insist: false,
    command: () => ["sh", "-c", ++lives === 1 ? "echo 'not yet' >&2; exit 1" : living],
  });
  const child = await startChild(plan);
  await until(() => lines.some(({ message }) => message === "the child is back"));
  expect(lines.filter(({ level }) => level !== "debug")[0]).toMatchObject({
    level: "error",
    message: "the child did not start; retrying",
    fields: { reason: "the child did not start: not yet" },
  });
  await child.stop();
});

test("a folder that an earlier process still has is waited for, with one line", async () => {
  let tries = 0;
  const { plan, lines } = planOf("", {
    isBusy: (reason) => reason.includes("locked"),
    command: () => ["sh", "-c", ++tries < 3 ? "echo 'folder locked' >&2; exit 1" : living],
  });
  await (await startChild(plan)).stop();
  expect([tries, lines.filter(({ level }) => level === "warn").map(({ message }) => message)]).toEqual([
    3,
    ["the child of the previous server still runs; waiting for it"],
  ]);
});

test("a child that does not stop in time is killed, and stopping ends", async () => {
  let killed = 0;
  const { plan, lines } = planOf("trap '' TERM; echo ready; while :; do sleep 0.05; done", {
    stopMsMax: 50,
    kill: () => void killed++,
  });
  await (await startChild(plan)).stop();
  expect([killed, lines.at(-1)?.message]).toEqual([1, "the child did not stop; killing it"]);
});

test("a stop asks first, and a child that dies meanwhile is not started again", async () => {
  const order: string[] = [];
  const { plan } = planOf(living, {
    command: () => {
      order.push("start");
      return ["sh", "-c", living];
    },
    farewell: async () => void order.push("farewell"),
  });
  await (await startChild(plan)).stop();
  expect(order).toEqual(["start", "farewell"]);
});

// What is known of a loop of the flush that gets no answers, or stores nothing.

import { expect, test } from "bun:test";
import { FlushState } from "../../../src/capture/flush/flush_state.ts";
import { ClickHouseError } from "../../../src/storage/clickhouse/error.ts";
import { noTrouble } from "../../../src/storage/engine_watch.ts";

function openState() {
  let now = 1000;
  const state = new FlushState({ now: () => now, elapsed: () => now });
  const pass = (ms: number) => void (now += ms);
  return { state, pass };
}

const timeOut = new ClickHouseError("did not answer within 30000 ms", "TIMEOUT", "TIMEOUT");
const crowded = new ClickHouseError("too many wait", "202", "TOO_MANY_SIMULTANEOUS_QUERIES");
const full = new ClickHouseError("no space", "243", "NOT_ENOUGH_SPACE");
const total = new ClickHouseError("(total) memory limit exceeded: would use", "241", "MEMORY_LIMIT_EXCEEDED");
const own = new ClickHouseError("Query memory limit exceeded", "241", "MEMORY_LIMIT_EXCEEDED");

test("without a statement, and once one is stored, there is no trouble", () => {
  const { state, pass } = openState();
  pass(5000);
  expect(state.read()).toEqual(noTrouble);
  state.begin();
  pass(5000);
  expect(state.read()).toEqual({ failingMs: 5000, silentMs: 5000, memoryMs: 0, code: "" });
  state.stored();
  expect(state.read()).toEqual(noTrouble);
});

test("time-outs, and statements that were not sent, are silence: it lasts from the first one on", () => {
  const { state, pass } = openState();
  for (const thrown of [timeOut, crowded, timeOut]) {
    state.begin();
    pass(30_000);
    state.failed(thrown);
  }
  expect(state.read()).toEqual({ failingMs: 90_000, silentMs: 90_000, memoryMs: 0, code: "TIMEOUT" });
});

test("an error is an answer, but nothing is stored by it", () => {
  const { state, pass } = openState();
  state.begin();
  pass(30_000);
  state.failed(full);
  state.begin();
  pass(40_000);
  expect(state.read()).toEqual({
    failingMs: 70_000,
    silentMs: 40_000,
    memoryMs: 0,
    code: "NOT_ENOUGH_SPACE",
  });
});

test("a read-back that is answered ends the silence, and a long statement behind it is none", () => {
  const { state, pass } = openState();
  state.begin();
  pass(20_000);
  state.answered();
  pass(90_000);
  expect(state.read()).toMatchObject({ failingMs: 110_000, silentMs: 0 });
  state.begin();
  pass(1000);
  expect(state.read()).toMatchObject({ failingMs: 111_000, silentMs: 1000 });
});

test("it counts how long the memory of all was used up, not a statement's own, nor what was before another error", () => {
  const { state, pass } = openState();
  state.begin();
  state.failed(own);
  pass(1000);
  state.failed(total);
  pass(1000);
  state.failed(total);
  pass(1000);
  expect(state.read()).toMatchObject({ failingMs: 3000, memoryMs: 2000 });
  state.failed(full);
  expect(state.read()).toMatchObject({ failingMs: 3000, memoryMs: 0 });
});

// An import ends when what it sent can be read, and says which lines the server made no event of.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { countsOf, eventLines, ImportSetup } from "./setup.ts";

let setup: ImportSetup;
beforeEach(async () => void (setup = await ImportSetup.open()));
afterEach(async () => await setup.close());

test("an import waits until the server has stored what came before its last body", async () => {
  const asked: number[] = [];
  setup.server.storedUntil = () => {
    asked.push(setup.server.taken.length);
    return new Date(asked.length < 4 ? 0 : Date.now() + 60_000);
  };
  const ran = await setup.run([await setup.write("a.jsonl", eventLines(3))]);
  expect(ran.code).toBe(0);
  expect(asked).toEqual([1, 1, 1, 1]);
  expect(ran.printed.at(-1)).toBe("all of it can be read now");
});

test("with --no-wait, and in a dry run, it does not ask", async () => {
  let asked = 0;
  setup.server.storedUntil = () => {
    asked++;
    return new Date(0);
  };
  const file = await setup.write("a.jsonl", eventLines(3));
  for (const option of ["--no-wait", "--dry-run"]) {
    const ran = await setup.run([file, option]);
    expect([ran.code, asked]).toEqual([0, 0]);
    expect(ran.printed.join()).not.toContain("read");
  }
});

test("a server that does not tell is not waited for", async () => {
  setup.server.storedUntil = () => undefined;
  const ran = await setup.run([await setup.write("a.jsonl", eventLines(3))]);
  expect([ran.code, ran.printed.at(-1)]).toEqual([
    0,
    "it will be queryable in a moment (the server does not report when)",
  ]);
});

test("a server that stores nothing more is waited for two minutes, and the import is done all the same", async () => {
  setup.server.storedUntil = () => new Date(0);
  let now = 0;
  const ran = await setup.run([await setup.write("a.jsonl", eventLines(3)), "--json"], {
    clock: { now: () => Date.now(), elapsed: () => (now += 1000) },
  });
  expect(ran.code).toBe(0);
  expect(ran.errors.at(-1)).toStartWith("it is stored on disk, but not queryable yet");
  expect(countsOf(ran)).toEqual({ sent: 3, accepted: 3, ignored: 0, rejected: 0 });
});

test("an interrupted wait prints that everything is kept", async () => {
  const interrupt = new AbortController();
  setup.server.storedUntil = () => {
    interrupt.abort();
    return new Date(0);
  };
  const ran = await setup.run([await setup.write("a.jsonl", eventLines(3))], { signal: interrupt.signal });
  expect([ran.code, ran.printed.at(-1)]).toEqual([
    0,
    "it is stored on disk, and will be queryable in a moment",
  ]);
});

test("lines that the server makes no event of are reported with file and line", async () => {
  const lines = eventLines(3).split("\n");
  lines[1] = '{"event":"","distinct_id":"d","timestamp":"2020-01-01T00:00:00Z"}';
  const path = await setup.write("a.jsonl", lines.join("\n"));
  const ran = await setup.run([path]);
  expect(ran.errors).toContain(`${path}:2: ignored: missing_event_name`);
  expect(ran.printed).toContain("ignored 1 (missing_event_name 1)");
});

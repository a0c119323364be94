import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { truncate } from "node:fs/promises";
import { importLimits } from "../../../src/cli/import/limits.ts";
import { countsOf, eventLines, ImportSetup } from "./setup.ts";

let setup: ImportSetup;
beforeEach(async () => void (setup = await ImportSetup.open()));
afterEach(async () => await setup.close());

const ten = { bodyLimits: { bytesMax: 1_000_000, rowsMax: 10 } };
const all = (count: number): string[] => Array.from({ length: count }, (_, n) => `e${n}`);

function names(): string[] {
  return setup.server.rows.map((row) => row["event"] as string);
}

describe("a server in trouble", () => {
  test("is asked again, and every event is counted once", async () => {
    setup.server.trouble = (_, attempt) => {
      if (attempt % 4 === 1) return { status: 503, headers: { "retry-after": "0" } };
      if (attempt % 4 === 2) return "drop";
      return attempt % 4 === 3 ? { status: 429 } : undefined;
    };
    const path = await setup.write("a.jsonl", eventLines(50));
    const ran = await setup.run([path, "--json", "--concurrency", "1"], ten);
    expect(ran.code).toBe(0);
    expect(countsOf(ran)).toEqual({ sent: 50, accepted: 50, ignored: 0, rejected: 0 });
    expect(names()).toEqual(all(50));
    expect(setup.server.attempts).toBe(20);
  });

  test("is given as much time as it asks for, and more each time", async () => {
    const waits: number[] = [];
    setup.server.trouble = (_, attempt) => {
      if (attempt <= 3) return { status: 503, headers: { "retry-after": "3" } };
      return attempt <= 5 ? { status: 500 } : undefined;
    };
    const pause = async (ms: number): Promise<void> => void waits.push(ms);
    await setup.run([await setup.write("a.jsonl", eventLines(1))], { pause, random: () => 1 });
    expect(waits).toEqual([3000, 3000, 3000, 4000, 8000]);
  });

  test("is given up on in the end, and the checkpoint stays", async () => {
    setup.server.trouble = (received) => (received.text.includes('"e15"') ? { status: 503 } : undefined);
    const path = await setup.write("a.jsonl", eventLines(30));
    const ran = await setup.run([path, "--json", "--concurrency", "1"], ten);
    expect(ran.code).toBe(1);
    expect(setup.server.attempts).toBe(1 + importLimits.attemptsMax);
    expect(ran.errors.at(-1)).toBe(
      `${setup.server.host} did not take a batch in 12 attempts; the last: 503; ` +
        `the same command again resumes from ${path}.sluice-import`,
    );
    expect(countsOf(ran)).toEqual({ sent: 10, accepted: 10, ignored: 0, rejected: 0 });
    setup.server.trouble = () => undefined;
    const again = await setup.run([path, "--json"], ten);
    expect(again.code).toBe(0);
    expect(countsOf(again)).toEqual({ sent: 30, accepted: 30, ignored: 0, rejected: 0 });
    expect(names().sort()).toEqual(all(30).sort());
    expect(await Bun.file(`${path}.sluice-import`).exists()).toBe(false);
  });

  test("that does not exist is reported in one line, at once", async () => {
    const path = await setup.write("a.jsonl", eventLines(3));
    const ran = await setup.run([path, "--host", "http://127.0.0.1:1"]);
    expect(ran.code).toBe(1);
    expect(ran.errors.at(-1)).toBe(
      "no server answers at http://127.0.0.1:1 (connection refused); start it, or set --host",
    );
    expect(await Bun.file(`${path}.sluice-import`).exists()).toBe(false);
  });

  test("that refuses the key or the body gets no retry", async () => {
    const body = JSON.stringify({
      type: "authentication_error",
      code: "invalid_api_key",
      detail: "API key not valid.",
    });
    setup.server.trouble = () => ({ status: 401, body });
    const ran = await setup.run([await setup.write("a.jsonl", eventLines(3))]);
    expect(ran.code).toBe(1);
    expect(setup.server.attempts).toBe(1);
    expect(ran.errors.at(-1)).toBe(`${setup.server.host} answered 401: API key not valid.`);
  });

  test("that finds a body too large gets it in halves; a row too large by itself is reported", async () => {
    setup.server.trouble = (received) => {
      const tooLarge = received.batch.length > 3 || received.text.includes('"e5"');
      return tooLarge ? { status: 413, body: '{"detail":"4 KB at most"}' } : undefined;
    };
    const path = await setup.write("a.jsonl", eventLines(20));
    const ran = await setup.run([path, "--json", "--concurrency", "1"]);
    expect(ran.code).toBe(1);
    expect(countsOf(ran)).toEqual({ sent: 19, accepted: 19, ignored: 0, rejected: 1 });
    expect(names()).toEqual(all(20).filter((name) => name !== "e5"));
    expect(ran.errors).toContain(`${path}:6: the server answered 413: 4 KB at most`);
  });
});

describe("an import that is interrupted", () => {
  test("waits for its requests, prints how to continue, and sends nothing twice when it does", async () => {
    const path = await setup.write("a.jsonl", `${eventLines(95)}{"event":"no time"}\n`);
    const interrupt = new AbortController();
    setup.server.hold = async () => {
      if (setup.server.attempts === 4) interrupt.abort();
      await Bun.sleep(1);
    };
    const first = await setup.run([path, "--json", "--concurrency", "2"], {
      ...ten,
      signal: interrupt.signal,
    });
    expect(first.code).toBe(1);
    expect(first.errors.at(-1)).toBe(
      `interrupted; the same command again resumes from ${path}.sluice-import`,
    );
    const sent = names().length;
    expect(sent).toBeGreaterThan(30);
    expect(sent).toBeLessThan(95);
    expect(countsOf(first)).toMatchObject({ sent, accepted: sent });
    const second = await setup.run([path, "--json"], ten);
    expect(second.code).toBe(1);
    expect(countsOf(second)).toEqual({ sent: 95, accepted: 95, ignored: 0, rejected: 1 });
    expect(names().sort()).toEqual(all(95).sort());
    expect(new Set(setup.server.rows.map((row) => row["uuid"])).size).toBe(95);
  });

  test("does not wait out the pause between two attempts", async () => {
    const interrupt = new AbortController();
    setup.server.trouble = () => ({ status: 503, headers: { "retry-after": "300" } });
    const pause = async (): Promise<void> => interrupt.abort();
    const ran = await setup.run([await setup.write("a.jsonl", eventLines(3))], {
      pause,
      signal: interrupt.signal,
    });
    expect(ran.code).toBe(1);
    expect(ran.errors.at(-1)).toBe("interrupted");
    expect(setup.server.attempts).toBe(1);
  });

  test("and killed continues too: what was answered last may come again, with the same uuids", async () => {
    const path = await setup.write("a.jsonl", eventLines(40));
    setup.server.trouble = (_, attempt) => (attempt > 2 ? { status: 400 } : undefined);
    await setup.run([path, "--concurrency", "1"], ten);
    const state = `${path}.sluice-import`;
    const older = await Bun.file(state).text();
    setup.server.trouble = (_, attempt) => (attempt > 4 ? { status: 400 } : undefined);
    await setup.run([path, "--concurrency", "1"], ten);
    // As if the last answer had not reached the disk.
    await Bun.write(state, older);
    setup.server.trouble = () => undefined;
    const ran = await setup.run([path, "--json"], ten);
    expect(countsOf(ran)).toEqual({ sent: 40, accepted: 40, ignored: 0, rejected: 0 });
    expect(names()).toHaveLength(50);
    expect(new Set(setup.server.rows.map((row) => row["uuid"])).size).toBe(40);
  });

  test("does not continue with a file that has changed", async () => {
    const path = await setup.write("a.jsonl", eventLines(40));
    setup.server.trouble = (_, attempt) => (attempt > 2 ? { status: 400 } : undefined);
    await setup.run([path, "--concurrency", "1"], ten);
    await truncate(path, 200);
    const ran = await setup.run([path], ten);
    expect(ran.code).toBe(1);
    expect(ran.errors.at(-1)).toContain(`${path} has changed since; remove it to begin anew`);
    expect(setup.server.attempts).toBe(3);
  });
});

test("a packed file that ends too early fails, after what could be read was not lost", async () => {
  const path = await setup.write(
    "a.jsonl.gz",
    Bun.gzipSync(Buffer.from(eventLines(20_000))).subarray(0, 60_000),
  );
  const ran = await setup.run([path, "--json"], { bodyLimits: { bytesMax: 100_000, rowsMax: 1000 } });
  expect(ran.code).toBe(1);
  expect(ran.errors.at(-1)).toStartWith(
    `${path}: the compressed data ends too early; the same command again`,
  );
  expect((countsOf(ran) as { sent: number }).sent).toBe(names().length);
  expect(names().length).toBeGreaterThan(0);
});

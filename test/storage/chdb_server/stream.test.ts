// Long answers of the embedded engine: they come as they are read, whatever their format, and fail when it fails.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type ClickHouse, openClickHouse } from "../../../src/storage/clickhouse/clickhouse.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { startFront, storesStartMsMax, type TestFront } from "../../support/stores.ts";

afterAll(cleanUp);

let front: TestFront;
let clickhouse: ClickHouse;

beforeAll(async () => {
  front = await startFront();
  clickhouse = openClickHouse(front.url);
  later(() => clickhouse.close());
  await clickhouse.createDatabase();
}, storesStartMsMax);

const settings = { max_threads: 1, output_format_json_quote_64bit_integers: 0 };

async function answerOf(text: string, params: Record<string, unknown> = {}): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(clickhouse.stream(text, params, { settings })));
}

function frontBytes(): number {
  const [, pages] = readFileSync(`/proc/${front.pid}/statm`, "utf8").split(" ");
  return Number(pages) * 4096;
}

test("the answer of a statement with subqueries is the same in pieces and whole, in every format", async () => {
  const select =
    "SELECT a, b FROM (SELECT number AS a, repeat('x\"\\n', a % 3) AS b FROM numbers({rows:UInt64}))";
  for (const format of ["CSVWithNames", "JSONEachRow", "TabSeparated", "LineAsString", "Parquet"]) {
    for (const rows of [0, 1, 100_000]) {
      const text = format === "LineAsString" ? `SELECT b FROM (${select})` : select;
      const pieces = await answerOf(`${text} FORMAT ${format}`, { rows });
      const whole = Buffer.from(await clickhouse.bytes(`${text} FORMAT ${format}`, { rows }, { settings }));
      if (format === "Parquet") expect(pieces.subarray(-4).toString()).toBe("PAR1");
      else expect(pieces.equals(whole)).toBeTrue();
    }
  }
});

test.skipIf(process.platform !== "linux")(
  "an answer of a gigabyte is read slowly in little memory",
  async () => {
    await answerOf("SELECT a FROM (SELECT number AS a FROM numbers(1000000)) FORMAT CSV");
    const before = frontBytes();
    let most = 0;
    let bytes = 0;
    const text = "SELECT a FROM (SELECT repeat(toString(number), 30) AS a FROM numbers(5000000)) FORMAT CSV";
    for await (const piece of clickhouse.stream(text, {}, { settings })) {
      // The engine is far ahead of who pauses now and then, unless it has to wait.
      if (Math.floor(bytes / 33_554_432) < Math.floor((bytes + piece.length) / 33_554_432)) {
        await Bun.sleep(20);
        most = Math.max(most, frontBytes() - before);
      }
      bytes += piece.length;
    }
    expect(bytes).toBeGreaterThan(900_000_000);
    expect(most).toBeLessThan(256 * 1024 * 1024);
  },
  300_000,
);

test("a statement that fails at once says why, one that fails half way cuts its answer", async () => {
  await expect(answerOf("SELECT a FROM (SELECT nothing AS a FROM numbers(1)) FORMAT CSV")).rejects.toThrow(
    "nothing",
  );
  const late =
    "SELECT a FROM (SELECT repeat(toString(throwIf(number > 200000)), 500) AS a FROM numbers(1000000)) FORMAT CSV";
  await expect(answerOf(late)).rejects.toThrow();
});

test("a reader that leaves stops the statement", async () => {
  const text =
    "SELECT a FROM (SELECT repeat(toString(number), 1000) AS a FROM numbers(100000000)) FORMAT CSVWithNames";
  for await (const piece of clickhouse.stream(text, {}, { settings })) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  const running =
    "SELECT count() AS n FROM system.processes WHERE query LIKE '%100000000%' AND query NOT LIKE '%system%'";
  for (;;) {
    const [row] = await clickhouse.query<{ n: string }>(running);
    if (row?.n === "0") break;
    await Bun.sleep(50);
  }
});

test("answers that follow one another all arrive, whoever else is answered meanwhile", async () => {
  const text = "SELECT a FROM (SELECT number AS a FROM numbers({rows:UInt64})) FORMAT CSV";
  const lengths = await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let rows = 1; rows < 30; rows++) await answerOf(text, { rows });
      return (await answerOf(text, { rows: 3 })).length;
    }),
  );
  expect(lengths).toEqual(Array.from({ length: 8 }, () => 6));
});

test("a statement that was killed has left the engine, though another one still runs", async () => {
  const endless = (tag: string) =>
    clickhouse
      .query(
        `SELECT count() AS ${tag} FROM (SELECT number FROM numbers(1000000000000)) WHERE sipHash64(number) = 1`,
      )
      .then(
        () => tag,
        () => tag,
      );
  const running = "FROM system.processes WHERE query LIKE concat('%', {tag:String}, ' FROM (SELECT number%')";
  const isRunning = async (tag: string) => {
    const [row] = await clickhouse.query<{ n: string }>(`SELECT count() AS n ${running}`, { tag });
    return row!.n !== "0";
  };
  const [killed, other] = [endless("killed"), endless("other")];
  while (!(await isRunning("killed")) || !(await isRunning("other"))) await Bun.sleep(20);
  const kill = (tag: string) =>
    clickhouse.command(`KILL QUERY WHERE query LIKE '%AS ${tag} FROM (SELECT number%' ASYNC`);
  await kill("killed");
  expect(await Promise.race([killed, other])).toBe("killed");
  while (await isRunning("killed")) await Bun.sleep(20);
  expect(await isRunning("other")).toBe(true);
  await kill("other");
  await other;
});

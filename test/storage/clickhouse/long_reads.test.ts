import { expect, test } from "bun:test";
import { openLongReads } from "../../../src/storage/clickhouse/long_reads.ts";

async function* threeBlocks() {
  yield* [1, 2, 3];
}

/** The pages of a project that have begun, and the error of the first that may not. */
async function begin(reads: ReturnType<typeof openLongReads>, project_id: number, atMost = 100) {
  const pages: AsyncGenerator<number, void>[] = [];
  for (let n = 0; n < atMost; n++) {
    const page = reads.withPermit(project_id, threeBlocks);
    try {
      expect((await page.next()).value).toBe(1);
    } catch (thrown) {
      return { pages, thrown };
    }
    pages.push(page);
  }
  return { pages, thrown: undefined };
}

test("sixteen long pages of one project are read at once, and of the next project some", async () => {
  const reads = openLongReads();
  const { pages, thrown } = await begin(reads, 1);
  expect(pages).toHaveLength(16);
  expect(thrown).toMatchObject({ type: "TOO_MANY_SIMULTANEOUS_QUERIES" });
  expect((await begin(reads, 2)).pages.length).toBeGreaterThanOrEqual(4);
});

test("a page gives its place back when it was read, left or failed, and costs nothing where it has none", async () => {
  const reads = openLongReads();
  const { pages } = await begin(reads, 1);
  let asked = 0;
  const refused = reads.withPermit(1, async function* () {
    yield ++asked;
  });
  expect(refused.next()).rejects.toMatchObject({ type: "TOO_MANY_SIMULTANEOUS_QUERIES" });
  expect(asked).toBe(0);
  for await (const _ of pages[0]!);
  await pages[1]!.return();
  expect((await begin(reads, 1)).pages).toHaveLength(2);
  await pages[2]!.return();
  const failing = reads.withPermit(1, async function* () {
    yield 1;
    throw new Error("the engine is unavailable");
  });
  await failing.next();
  expect(failing.next()).rejects.toThrow("the engine is unavailable");
  expect((await begin(reads, 1)).pages).toHaveLength(1);
});

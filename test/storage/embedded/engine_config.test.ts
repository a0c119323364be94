import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { engineBounds, writeEngineConfig } from "../../../src/storage/embedded/engine_config.ts";
import { embeddedLimits } from "../../../src/storage/embedded/limits.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { askClickHouse, startFront, storesStartMsMax } from "../../support/stores.ts";

afterAll(cleanUp);

const GiB = 1024 ** 3;

test("the engine takes half of the memory, what it needs at least, and never all of it", () => {
  expect(engineBounds(16 * GiB).serverBytes).toBe(8 * GiB);
  expect(engineBounds(2.5 * GiB).serverBytes).toBe(embeddedLimits.engineMemoryBytesMin);
  expect(engineBounds(GiB).serverBytes).toBe(Math.floor(GiB * embeddedLimits.engineMemoryFractionMax));
  for (const memory of [GiB, 4 * GiB, 64 * GiB, 1024 * GiB]) {
    const { serverBytes, mergesBytes, cacheBytes } = engineBounds(memory);
    expect(mergesBytes).toBeLessThan(serverBytes / 2);
    expect(cacheBytes).toBeLessThanOrEqual(Math.min(serverBytes / 50, embeddedLimits.engineCacheBytesMax));
  }
});

test("its configuration names them, and holds for whoever may read it alone", () => {
  const path = `${makeFolder()}/clickhouse.xml`;
  writeEngineConfig(path, engineBounds(4 * GiB));
  expect(readFileSync(path, "utf8")).toContain(
    `<max_server_memory_usage>${2 * GiB}</max_server_memory_usage>`,
  );
});

test(
  "the engine has read its bounds",
  async () => {
    const front = await startFront();
    const ask = async (body: string, search: Record<string, string> = {}) =>
      (await askClickHouse(front.url, { wait_end_of_query: "1", ...search }, { body })).text();
    const name = "name = 'max_server_memory_usage'";
    const bound = Number(await ask(`SELECT value FROM system.server_settings WHERE ${name}`));
    expect(bound).toBeGreaterThan(0);
    expect(bound).toBeLessThanOrEqual(engineBounds(Number.MAX_SAFE_INTEGER).serverBytes);
    expect(await ask(`SELECT changed FROM system.server_settings WHERE ${name}`)).toBe("1\n");
    await front.end();
  },
  storesStartMsMax,
);

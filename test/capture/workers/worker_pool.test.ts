import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { captureSetup } from "../../../src/capture/capture_journal.ts";
import { liveLane } from "../../../src/capture/columns/block.ts";
import { writeIdentity } from "../../../src/capture/journal/identity/journal_identity.ts";
import { Ledger } from "../../../src/capture/journal/ledger.ts";
import { adoptOrphans } from "../../../src/capture/journal/recovery/orphan_journals.ts";
import { countWorkers, leftBehind } from "../../../src/capture/workers/worker_pool.ts";
import { silentLog } from "../../../src/core/log.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { appendTo, clockAt, identityOf, openJournal } from "../../support/journal.ts";

afterAll(cleanUp);

test("a machine of less than eight cores has one worker unless more are asked for, a large one four", () => {
  const counts = [1, 2, 4, 7, 8, 12, 16, 64].map((cores) => countWorkers(undefined, cores, "linux").count);
  expect(counts).toEqual([1, 1, 1, 1, 2, 3, 4, 4]);
  expect(countWorkers(6, 2, "linux")).toEqual({ count: 6, cores: 2, chosen_by: "WORKERS" });
});

test("where the system spreads no connections over processes there is one worker, and the log says why", () => {
  for (const asked of [undefined, 4]) {
    expect(countWorkers(asked, 16, "darwin")).toMatchObject({
      count: 1,
      chosen_by: expect.stringContaining("the system"),
    });
  }
  expect(countWorkers(undefined, 2, "darwin")).toMatchObject({ count: 1, chosen_by: "the machine's cores" });
});

test("a start with fewer workers finds the folders of the others", () => {
  const dataDir = makeFolder();
  expect(leftBehind(dataDir, 1)).toEqual([]);
  for (const number of [2, 3, 10]) mkdirSync(`${dataDir}/workers/${number}`, { recursive: true });
  expect(leftBehind(dataDir, 2)).toEqual([`${dataDir}/workers/3`, `${dataDir}/workers/10`]);
  expect(leftBehind(dataDir, 10)).toEqual([]);
});

test("a journal that is taken in loses what is done with, keeps its number, and hands out none twice", async () => {
  const dataDir = makeFolder();
  const [from, to] = [`${dataDir}/workers/2/journal`, `${dataDir}/journal`];
  mkdirSync(to);
  const millis = Date.UTC(2040, 0, 1);
  const journal = openJournal(from, { clock: clockAt(millis) });
  for (let place = 0; place < 3; place++) {
    appendTo(journal, "live", place);
    await journal.live.seal();
  }
  await journal.finish(journal.nextSealed(liveLane)!);
  await journal.close();
  await journal.release();
  const [waiting, damaged] = readdirSync(from)
    .filter((name) => name.endsWith(".segment"))
    .toSorted();
  const bytes = readFileSync(`${from}/${damaged}`);
  bytes[200]! ^= 1;
  writeFileSync(`${from}/${damaged}`, bytes);
  writeFileSync(`${from}/live-0.segment.spare`, "");
  await writeIdentity(from, identityOf({ name: "the second", number: 9 }));
  let rows = 0;
  const { database } = identityOf();
  const adopt = (its = database) =>
    adoptOrphans(
      captureSetup,
      to,
      { orphanDirs: [`${dataDir}/workers/2`], ownership: { database: its } },
      (damage) => void (rows += damage.rows),
      silentLog,
    );
  await expect(adopt("another")).rejects.toThrow("sluice journal adopt");
  expect((await adopt()).map(({ name }) => name)).toEqual(["the second"]);
  expect(readdirSync(to)).toEqual([waiting!]);
  expect(rows).toBe(1);
  const left = ["identity.json", "ledger", `${damaged}.damaged`, "synced"];
  expect(readdirSync(from).toSorted()).toEqual(left);
  // A clock that went back meanwhile cannot make it use the same number again.
  const { finished, lastMillis, unreadable } = new Ledger(captureSetup, from).read();
  expect([finished, unreadable]).toEqual([[], 0]);
  expect(lastMillis).toBeGreaterThanOrEqual(millis + 2);
  expect((await adopt()).map(({ name }) => name)).toEqual(["the second"]);
  expect(rows).toBe(1);
});

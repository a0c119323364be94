// An embedded engine that hangs, inside a statement or as a whole, until its server restarts it.

import { silentLog } from "../../../src/core/log.ts";
import { openStores } from "../../../src/storage/stores.ts";
import { enginePid, hangStatement } from "../../support/stuck_engine.ts";
import { judge, type Verdict } from "./judge.ts";
import { addressOf, storeAll } from "./kills.ts";
import type { ProofLedger } from "./ledger.ts";
import { metricOf, openEmbeddedPlace } from "./place.ts";
import type { Progress } from "./progress.ts";
import { sendOn } from "./sender.ts";

/** It hangs so many times, in turns inside a statement and as a whole. */
export async function hangEngine(
  ledger: ProofLedger,
  hangs: number,
  progress: Progress,
): Promise<{ restarts: number; verdict: Verdict }> {
  const place = await openEmbeddedPlace();
  const server = place.start();
  const url = await addressOf(server);
  let isOver = false;
  // Each hang lasts a minute, and all that is sent meanwhile is judged.
  const sender = { isOver: () => isOver, pauseMs: 100 };
  const sending = [
    sendOn(url, ledger, { batch: 50, ...sender }),
    sendOn(url, ledger, { batch: 20, historical: true, ...sender }),
    sendOn(url, ledger, { batch: 1, ...sender }),
  ];
  const restarts = () => metricOf(url, "sluice_engine_restarts_total");
  let hung = 0;
  for (; hung < hangs && !progress.isOver(); hung++) {
    await Bun.sleep(1000);
    if (hung % 2 === 0) await hangStatement(place.dataDir);
    else process.kill(enginePid({ pid: server.pid, dataDir: place.dataDir }), "SIGSTOP");
    for (; (await restarts()) <= hung; await Bun.sleep(200)) {
      progress.tell(`hung ${hung + 1} times, ${ledger.acknowledged} acknowledged`);
    }
    // The next hang is one of the new engine.
    while ((await fetch(`${url}/_readiness`)).status !== 200) await Bun.sleep(200);
  }
  isOver = true;
  await Promise.all(sending);
  const restarted = await restarts();
  await server.finish();
  await storeAll(place);
  await using stores = await openStores({ dataDir: place.dataDir, log: silentLog, requireReachable: true });
  return { restarts: restarted, verdict: await judge({ ...place, ...stores }, ledger) };
}

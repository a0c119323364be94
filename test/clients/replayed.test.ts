// Programs that cannot be installed from a registry: their requests, as their public source makes them, one after the
// other, and what each needs of the answers.

import { afterAll, beforeAll, test } from "bun:test";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { moverTest } from "../support/movers.ts";
import { readSequence, replay } from "../support/replay.ts";
import { fillShop } from "../support/shop.ts";

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  await fillShop(app);
}, startMsMax);

afterAll(cleanUp, startMsMax);

// The last one deletes persons.
const programs = {
  ingestr: moverTest("ingestr", "tools/requests/ingestr.json"),
  estuary: moverTest("Estuary, `source-posthog`", "tools/requests/estuary.json"),
  terraform: moverTest("Terraform's provider `posthog`", "tools/requests/terraform.json"),
  scripts: moverTest("Scripts, as public code has them", "tools/requests/scripts.json"),
};
for (const [fixture, promise] of Object.entries(programs)) {
  test(promise, () => replay(app, readSequence(fixture)));
}

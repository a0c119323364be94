// A start that cannot come to anything: it says why in one line, and leaves nothing behind.

import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { openApp } from "../src/app.ts";
import { readConfig } from "../src/config.ts";
import { UserError } from "../src/core/fault.ts";
import { silentLog } from "../src/core/log.ts";
import { cleanUp } from "./support/cleanup.ts";
import { makeFolder } from "./support/folder.ts";

afterAll(cleanUp);

const startAt = (port: number, dataDir: string) =>
  openApp(
    readConfig({ HOST: "127.0.0.1", PORT: String(port), DATA_DIR: dataDir, WORKERS: "1" }),
    silentLog,
  ).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

test("a start that cannot listen makes no store and no key, which nobody would see", async () => {
  const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("other") });
  const dataDir = makeFolder();
  const refused = await startAt(other.port!, dataDir);
  expect(refused).toBeInstanceOf(UserError);
  expect((refused as UserError).message).toContain(String(other.port));
  expect((refused as UserError).message).not.toContain("\n");
  expect(readdirSync(dataDir)).toEqual([]);
  // The one who listens there is not disturbed.
  expect(await (await fetch(other.url)).text()).toBe("other");
  await other.stop(true);
});

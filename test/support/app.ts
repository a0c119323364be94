// The whole application in the test's own process, for tests that ask what it answers. Never shared between
// files.

import { type App, openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import type { DescribedRoute } from "../../src/http/docs/docs.ts";
import { later } from "./cleanup.ts";
import { makeStoresFolder } from "./made_stores.ts";
import { type RemoteClickHouse, remoteFor, settingsOf } from "./remote_clickhouse.ts";
import { ownStores, personalKey, projectKey } from "./server.ts";

export interface RunningApp extends App {
  dataDir: string;
  /** The remote ClickHouse that the tests gave it. */
  remote?: RemoteClickHouse;
}

/** Open until the test file ends. */
export async function startApp(
  environment: Record<string, string> = {},
  log: Log = silentLog,
): Promise<RunningApp> {
  const dataDir = await makeStoresFolder(ownStores(environment));
  const remote = environment["CLICKHOUSE_URL"] ? undefined : await remoteFor(dataDir, true);
  const config = readConfig({
    PORT: "0",
    DATA_DIR: dataDir,
    WORKERS: "1",
    BOOTSTRAP_PROJECT_API_KEY: projectKey,
    BOOTSTRAP_PERSONAL_API_KEY: personalKey,
    ...settingsOf(remote),
    ...environment,
  });
  const app = await openApp(config, log);
  later(() => app.close());
  return { ...app, dataDir, ...(remote && { remote }) };
}

/** The routes a personal key opens, without those of browsers asking what they may send. */
export function managementRoutes(app: App): DescribedRoute[] {
  return app.routes.filter(({ method, path }) => path.startsWith("/api/") && method !== "OPTIONS");
}

import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cleanUpEach } from "../../support/cleanup.ts";
import { clusterName, startClusterFront } from "../../support/cluster.ts";
import { type Lender, openLender } from "../../support/remote.ts";
import { rested, runSluice, startServer } from "../../support/server.ts";
import { fillProject, recordFrom, shownBy } from "../../support/shown.ts";

cleanUpEach();

let lender: Lender;
beforeAll(async () => {
  lender = await openLender();
});

test("a server that was moved to a cluster shows what it showed", async () => {
  const first = await startServer({ FLUSH_INTERVAL_MS: "50" });
  await recordFrom(first);
  await fillProject(first, "early");
  await rested(first);
  await first.end("SIGTERM");
  const { dataDir } = first;
  const again = await startServer({}, dataDir);
  const before = await shownBy(again);
  await again.end("SIGTERM");
  const remote = {
    ...(await lender.lend("moved_to")),
    CLICKHOUSE_URL: (await startClusterFront()).url,
    CLICKHOUSE_CLUSTER: clusterName,
    SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim(),
  };
  const moved = await runSluice(["move"], { ...remote, DATA_DIR: dataDir });
  expect(moved).toMatchObject({ exitCode: 0, stderr: "" });
  const server = await startServer(remote, dataDir);
  await rested(server);
  const after = await shownBy(server);
  const paths = Object.keys(before).filter((path) => path.startsWith("/api/projects/1/"));
  expect(paths.length).toBeGreaterThan(3);
  for (const path of paths) expect([path, after[path]]).toEqual([path, before[path]]);
  expect(after["snapshots"]).toEqual(before["snapshots"]);
});

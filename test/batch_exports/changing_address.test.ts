// A destination whose name resolves to another address after each check, as its owner's name server decides: nothing
// connects to an address that was not checked.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { createServer } from "node:net";
import { openAddresses } from "../../src/access/address.ts";
import { openDestination, probe } from "../../src/batch_exports/destinations/destinations.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { ClickHouse } from "../../src/storage/clickhouse/clickhouse.ts";
import { azureAccount, azureKey } from "../support/azure.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp);

let connections = 0;
/** The addresses that the engine is sent. */
const sentUrls: string[] = [];
const listener = createServer((socket) => {
  connections++;
  socket.on("error", () => {});
  socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
});
await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
later(() => listener.close());
const { port } = listener.address() as { port: number };
beforeEach(() => {
  connections = 0;
  sentUrls.length = 0;
});

const clickhouse = {
  omitHidden: (_: unknown, options: unknown) => options,
  command: async (_: string, params: { url?: string }) => {
    if (params.url !== undefined) sentUrls.push(params.url);
  },
} as unknown as ClickHouse;

const host = "changing.invalid";
const destinations: [type: Parameters<typeof openDestination>[0], config: object, secrets: object][] = [
  ["HTTP", { url: `http://${host}:${port}/batch/` }, { token: "phc_theirs" }],
  ["Postgres", { host, port, database: "theirs" }, { user: "them", password: "theirs" }],
  [
    "AzureBlob",
    { account_name: azureAccount, container_name: "c", endpoint_url: `http://${host}:${port}` },
    { account_key: azureKey },
  ],
  [
    "S3",
    { bucket_name: "b", region: "us-east-1", endpoint_url: `http://${host}:${port}` },
    { aws_access_key_id: "theirs", aws_secret_access_key: "theirs" },
  ],
];

/** Tests the destination while its name resolves to one address after the other, and then to the last. */
function probeWhere(i: number, allowPrivate: boolean, addresses: string[]): Promise<void> {
  const [type, config, secrets] = destinations[i]!;
  let asked = 0;
  const resolve = async () => [addresses[Math.min(asked++, addresses.length - 1)]!];
  return probe(openDestination(type, { ...config }, { ...secrets }), {
    clickhouse,
    addresses: openAddresses({ allowPrivate, resolve }),
    clock: systemClock,
    exportFileDir: undefined,
  });
}

test.each(destinations.map(([type], i) => [type, i] as const))(
  "%s is not sent to an inner address that its name has after a check",
  async (_, i) => {
    for (const addresses of [["93.184.216.34", "127.0.0.1"], ["127.0.0.1"]]) {
      await expect(probeWhere(i, false, addresses)).rejects.toThrow("private or local address");
    }
    expect([connections, sentUrls]).toEqual([0, []]);
  },
);

test.each(destinations.slice(0, 3).map(([type], i) => [type, i] as const))(
  "%s is sent to the address that the check was given, whatever the system's resolver says",
  async (_, i) => {
    await expect(probeWhere(i, true, ["127.0.0.1"])).rejects.toThrow();
    expect(connections).toBeGreaterThan(0);
  },
);

test("S3 over http is written to the address of the last check, not to the name", async () => {
  await probeWhere(3, false, ["93.184.216.34", "93.184.216.35", "127.0.0.1"]);
  expect(sentUrls.map((url) => new URL(url).hostname)).toEqual(["93.184.216.35"]);
});

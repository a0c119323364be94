// Programs that copy a project elsewhere, as their registries have them and with nothing but their host set: they come to
// their end with every row once. What is not to be had on a machine is skipped, and the test's name says what is missing.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { moverTest } from "../support/movers.ts";
import { type Kit, pipInstall, readyKit, run } from "../support/sdks.ts";
import { personalKey } from "../support/server.ts";
import { fillShop, shop } from "../support/shop.ts";

const toolMsMax = 300_000;

function fromPip(name: string): Kit {
  return { files: [`tools/${name}/requirements.txt`], tools: ["python3"], install: pipInstall };
}

const airbyte = await readyKit(fromPip("airbyte"));
const dlt = await readyKit(fromPip("dlt"));

let app: RunningApp;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  await fillShop(app);
  const query = { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "bought" }] };
  await ask(app, "POST", "/api/projects/1/insights/", { name: "Sales", query });
  await ask(app, "POST", "/api/projects/1/dashboards/", { name: "Shop" });
}, startMsMax);

afterAll(cleanUp, startMsMax);

/** A line that the connector prints. */
interface Message {
  type: string;
  record?: { stream: string; data: { id: unknown } };
  log?: { level: string; message: string };
  trace?: { type: string };
  state?: { stream: { stream_descriptor: object } };
  catalog?: { streams: { name: string; supported_sync_modes: string[] }[] };
  connectionStatus?: { status: string };
}

test.skipIf(airbyte.missing !== "")(
  moverTest("Airbyte, `airbyte-source-posthog`", "tools/airbyte/requirements.txt") + skipped(airbyte.missing),
  async () => {
    const folder = makeFolder();
    const write = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
    const ask = async (...args: string[]): Promise<Message[]> => {
      const program = [
        "python3",
        "-c",
        "from source_posthog.run import run; run()",
        ...args,
        "--config",
        "config.json",
      ];
      const environment = { PYTHONPATH: join(airbyte.folder, "packages") };
      const { exitCode, output } = await run(program, folder, environment);
      const messages = output.split("\n").filter(Boolean).map(readMessage);
      expect({ exitCode, errors: messages.filter(isError) }).toEqual({ exitCode: 0, errors: [] });
      return messages;
    };
    const start_date = `${new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 19)}Z`;
    write("config.json", { api_key: personalKey, base_url: app.url, start_date });
    const checked = await ask("check");
    expect(checked.find(({ type }) => type === "CONNECTION_STATUS")!.connectionStatus!.status).toBe(
      "SUCCEEDED",
    );

    const discovered = await ask("discover");
    const { streams } = discovered.find(({ type }) => type === "CATALOG")!.catalog!;
    const configured = streams.map((stream) => {
      const sync_mode = stream.supported_sync_modes.includes("incremental") ? "incremental" : "full_refresh";
      return { stream, sync_mode, destination_sync_mode: "append" };
    });
    write("catalog.json", { streams: configured });
    const first = await ask("read", "--catalog", "catalog.json");
    expect(rowsOf(first)).toEqual({ projects: 1, persons: shop.persons, events: shop.events, insights: 1 });

    const states = new Map(
      first.flatMap(({ state }) => (state ? [[JSON.stringify(state.stream.stream_descriptor), state]] : [])),
    );
    write("state.json", [...states.values()]);
    const again = await ask("read", "--catalog", "catalog.json", "--state", "state.json");
    expect(rowsOf(again)).toEqual({ projects: 1, persons: shop.persons, insights: 1 });
  },
  toolMsMax,
);

/** What it prints without being asked, e.g. a warning of Python's, is a message of its own kind. */
function readMessage(line: string): Message {
  return line.startsWith("{") ? (JSON.parse(line) as Message) : { type: line };
}

function isError({ log, trace }: Message): boolean {
  return trace?.type === "ERROR" || /ERROR|FATAL/.test(log?.level ?? "");
}

/** How many rows there are by stream; none of them twice. */
function rowsOf(messages: Message[]): Record<string, number> {
  const ids = new Map<string, unknown[]>();
  for (const { record } of messages) {
    if (record) ids.set(record.stream, [...(ids.get(record.stream) ?? []), record.data.id]);
  }
  for (const some of ids.values()) expect(new Set(some).size).toBe(some.length);
  return Object.fromEntries([...ids].map(([stream, some]) => [stream, some.length]));
}

test.skipIf(dlt.missing !== "")(
  moverTest("dlt, its `rest_api` source", "tools/dlt/requirements.txt") + skipped(dlt.missing),
  async () => {
    const folder = makeFolder();
    const program = ["python3", resolve(import.meta.dir, "tools/dlt/pipeline.py"), app.url, personalKey];
    const environment = {
      PYTHONPATH: join(dlt.folder, "packages"),
      HOME: folder,
      RUNTIME__DLTHUB_TELEMETRY: "false",
    };
    // The second load reads on from the last event, and doubles nothing.
    for (let load = 0; load < 2; load++) {
      const { exitCode, output } = await run(program, folder, environment);
      const counted = output.split("\n").find((line) => line.startsWith('{"events"'));
      expect({ exitCode, output: counted ? "" : output }).toEqual({ exitCode: 0, output: "" });
      expect(JSON.parse(counted!)).toEqual({
        events: [shop.events, shop.events],
        persons: [shop.persons, shop.persons],
        insights: [1, 1],
        dashboards: [1, 1],
      });
    }
  },
  toolMsMax,
);

function skipped(missing: string): string {
  return missing && ` (skipped: ${missing})`;
}

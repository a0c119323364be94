// @posthog/core, which posthog-react-native and the other stateful SDKs of the family are made of, driven as
// they drive it: storage and fetch are the device's, everything else is its own.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { PostHogCore, type PostHogFetchOptions, type PostHogFetchResponse } from "@posthog/core";
import { ask } from "../support/ask.ts";
import { cleanUp } from "../support/cleanup.ts";
import { readEvents } from "../support/events.ts";
import { projectKey, rested, type Server, startServer, until } from "../support/server.ts";

afterAll(cleanUp);

let server: Server;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50" });
});

class Device extends PostHogCore {
  readonly asked: string[] = [];
  #storage = new Map<string, unknown>();

  async fetch(url: string, options: PostHogFetchOptions): Promise<PostHogFetchResponse> {
    const response = await fetch(url, options as RequestInit);
    this.asked.push(`${options.method} ${new URL(url).pathname} ${response.status}`);
    return response;
  }
  /** As posthog-react-native asks when it starts, and when somebody is identified. */
  async start(): Promise<void> {
    await this.flagsAsync({ fetchConfig: true });
  }
  getLibraryId(): string {
    return "posthog-react-native";
  }
  getLibraryVersion(): string {
    return "4.0.0";
  }
  getCustomUserAgent(): string {
    return "posthog-react-native/4.0.0";
  }
  getPersistedProperty<T>(key: string): T | undefined {
    return this.#storage.get(key) as T | undefined;
  }
  setPersistedProperty<T>(key: string, value: T | null): void {
    if (value === null) this.#storage.delete(key);
    else this.#storage.set(key, value);
  }
}

test("a mobile app's session is stored whole, and its start-up requests are answered", async () => {
  const errors: unknown[] = [];
  const device = new Device(projectKey, { host: server.url, flushAt: 100 });
  device.on("error", (error: unknown) => errors.push(error));
  device.capture("$screen", { $screen_name: "Checkout" });
  device.autocapture("touch", [{ tag_name: "Button", $el_text: "Buy" }], { $touch_x: 12 });
  const anonymous = device.getDistinctId();
  device.identify("zoe@example.com", { $set: { plan: "free" } });
  device.group("company", "acme", { seats: 3 });
  device.alias("zoe-at-work");
  await device.reloadFeatureFlagsAsync();
  await device.shutdown();
  await rested(server);

  expect(errors).toEqual([]);
  expect(device.asked.filter((one) => !one.endsWith(" 200"))).toEqual([]);
  expect(device.asked).toContain("POST /flags/ 200");
  expect(device.getFeatureFlags()).toEqual({});
  const events = await readEvents(server);
  expect(events.map(({ event }) => event).toSorted()).toEqual(
    ["$screen", "$autocapture", "$identify", "$groupidentify", "$create_alias"].toSorted(),
  );
  const screen = events.find(({ event }) => event === "$screen");
  expect(screen?.distinct_id).toBe(anonymous);
  expect(screen?.properties).toMatchObject({
    $screen_name: "Checkout",
    $lib: "posthog-react-native",
  });
});

test("a mobile app is told beside its flags whether its sessions are recorded", async () => {
  const told = async () => {
    const device = new Device(projectKey, { host: server.url, flushAt: 100 });
    device.setPersistedProperty("session_replay", { endpoint: "/of/an/earlier/start/" });
    await device.start();
    await device.shutdown();
    expect(device.asked).toContain("POST /flags/ 200");
    return device.getPersistedProperty("session_replay");
  };
  expect(await told()).toBeUndefined();
  await ask(server, "PATCH", "/api/projects/1/", { session_recording_opt_in: true });
  await until(async () => (await told()) !== undefined);
  expect(await told()).toEqual({ endpoint: "/s/", consoleLogRecordingEnabled: true, recorderVersion: "v2" });
});

// The player's page: messages between it and the console, keys, and what is not played. rrweb is a record of its calls.

import { afterEach, expect, jest, mock, test } from "bun:test";
import type { PlayerMessage } from "../../../src/console/app/session_recordings/snapshots.ts";
import { closePage, type DrawnPage, drawPage, inDocument } from "./drawn_page.tsx";

const calls: unknown[][] = [];

class Replayer {
  wrapper = { style: {} };
  iframe = { title: "" };
  time = 0;
  constructor(events: readonly object[]) {
    calls.push(["open", events.length]);
  }
  on() {}
  setConfig(config: object) {
    calls.push(["config", config]);
  }
  getCurrentTime() {
    return this.time;
  }
  play(ms: number) {
    calls.push(["play", ms]);
  }
  pause(ms: number) {
    calls.push(["pause", ms]);
  }
  destroy() {
    calls.push(["destroy"]);
  }
}
await mock.module("rrweb", () => ({ Replayer }));
const { PlayerPage } = await inDocument(() => import("../../../src/console/app/player.tsx"));

afterEach(async () => {
  await closePage();
  jest.useRealTimers();
  calls.length = 0;
});

const event = (timestamp: number, more: object = {}) => ({ type: 3, timestamp, data: {}, ...more });
const recording = [event(1000), event(3000), event(61_000)];

/** A message as the console's frame sends it, unless its origin or source is another. */
async function receive(page: DrawnPage, data: PlayerMessage, more: object = {}): Promise<void> {
  dispatchEvent(
    Object.assign(new Event("message"), { data, origin: location.origin, source: parent, ...more }),
  );
  await page.settled();
}

async function drawn(windows: [string, object[]][], isWhole = true) {
  const sent: PlayerMessage[] = [];
  const page = await drawPage(<PlayerPage />, { path: "/console/player" });
  parent.postMessage = ((message: PlayerMessage) => void sent.push(message)) as typeof parent.postMessage;
  await receive(page, { kind: "show", windows: new Map(windows) as never, isWhole });
  return { page, sent };
}

test("messages of another page or another origin show nothing", async () => {
  const page = await drawPage(<PlayerPage />, { path: "/console/player" });
  const problem: PlayerMessage = { kind: "problem", text: "not from the console" };
  await receive(page, problem, { origin: "http://elsewhere.example" });
  await receive(page, problem, { source: {} });
  expect(page.text()).toBe("Loading …");
  await receive(page, problem);
  expect(page.texts('[role="alert"]')).toEqual(["not from the console"]);
});

test("the longest window is played, others can be chosen, and one of a single event is not played", async () => {
  const { page } = await drawn([
    ["short", [event(1000)]],
    ["long", recording],
  ]);
  expect(calls.filter(([name]) => name === "open")).toEqual([["open", 3]]);
  expect(page.valueOf("Window")).toBe("long");
  await page.fill("Window", "short");
  expect(page.text()).toContain("Nothing was recorded that can be played.");
  expect(calls.at(-1)).toEqual(["destroy"]);
});

test("it plays and pauses at its position, which it reports to the console", async () => {
  const { page, sent } = await drawn([["w", recording]]);
  calls.length = 0;
  await page.press("Play");
  await page.press("Pause");
  expect(calls).toEqual([
    ["play", 0],
    ["pause", 0],
  ]);
  await receive(page, { kind: "seek", at: 31_000 });
  expect(calls.at(-1)).toEqual(["pause", 30_000]);
  expect(sent.at(-1)).toEqual({ kind: "time", at: 31_000 });
  expect(page.text()).toContain("30 s of 1 min");
});

test("no moment lies before the first event or after the last", async () => {
  const { page } = await drawn([["w", recording]]);
  await receive(page, { kind: "seek", at: 0 });
  expect(calls.at(-1)).toEqual(["pause", 0]);
  await receive(page, { kind: "seek", at: 9_000_000 });
  expect(calls.at(-1)).toEqual(["pause", 60_000]);
  // At its end, it begins again.
  await page.press("Play");
  expect(calls.at(-1)).toEqual(["play", 0]);
});

test("keys start, stop and go five seconds, here and beside the player; a field keeps its own", async () => {
  const { page } = await drawn([["w", recording]]);
  calls.length = 0;
  await page.key(page.find("main"), " ");
  await page.key(page.find("main"), "ArrowRight");
  await receive(page, { kind: "press", key: "ArrowRight" });
  await page.key(page.find("main"), "ArrowLeft");
  expect(calls).toEqual([
    ["play", 0],
    ["play", 5000],
    ["play", 10_000],
    ["play", 5000],
  ]);
  await page.key(page.find("input.seek"), "ArrowRight");
  await page.key(page.find("main"), "ArrowRight", { ctrlKey: true });
  expect(calls).toHaveLength(4);
});

test("speed and idle time are set as they are chosen", async () => {
  const { page } = await drawn([["w", recording]]);
  await page.fill("Speed", "4");
  await page.fill("Skip idle time", "off");
  expect(calls.filter(([name]) => name === "config").slice(-2)).toEqual([
    ["config", { speed: 4, skipInactive: true }],
    ["config", { speed: 4, skipInactive: false }],
  ]);
});

test("what a recording has from other hosts is named, the first of them, and what reaches out is taken out", async () => {
  const image = (host: number) => ({ tagName: "img", attributes: { src: `https://h${host}.example/a.png` } });
  const link = { tagName: "link", attributes: { rel: "preconnect", href: "https://spy.example" } };
  const hosts = Array.from({ length: 9 }, (_, i) => image(i));
  const whole = event(1000, { type: 2, data: { node: { childNodes: [...hosts, link] } } });
  const visited = event(999, { type: 4, data: { href: "https://shop.example/" } });
  const { page } = await drawn([["w", [visited, whole, event(2000)]]]);
  const [text] = page.texts(".unloaded");
  expect(text).toStartWith("Not loaded from elsewhere: 1 image of h");
  expect(text!.match(/1 image of/g)!.length + Number(/and of (\d+) more/.exec(text!)?.[1] ?? 0)).toBe(9);
  expect(link.attributes).toEqual({ href: "https://spy.example" } as typeof link.attributes);
});

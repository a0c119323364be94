import { expect, test } from "bun:test";
import { readPlayable } from "../../../../src/console/app/session_recordings/playable.ts";
import { event } from "../../../support/recordings.ts";

const whole = { type: 2, timestamp: 1, data: { node: { id: 1, type: 0, childNodes: [] } } };

test("a usual recording is played as it came, without a notice", () => {
  const events = [event.page(0, "http://x/"), whole, event.click(2)];
  expect(readPlayable(events)).toEqual({ events, notices: [] });
});

test("what the server leaves out is named, and what it could not inflate is not played", () => {
  const left = { type: 5, timestamp: 3, data: { tag: "left_out", payload: { bytes: 9_400_000 } } };
  const { events, notices } = readPlayable([
    event.page(0, "http://x/"),
    event.whole(1),
    event.click(2),
    left,
  ]);
  expect(events.map(({ type }) => type)).toEqual([4, 3, 5]);
  expect(notices).toEqual([
    "9.4 MB are left out: a part of it is too large to be played.",
    "1 of its events are left out: too large or damaged.",
    "The page itself was not recorded, or is left out: nothing of it can be shown.",
  ]);
});

// PostHog/posthog#23219, openobserve/openobserve#14684, PostHog/posthog-js#3794
test("a recording without a full snapshot says so", () => {
  const { events, notices } = readPlayable([event.move(0), event.click(1)]);
  expect(events).toHaveLength(2);
  expect(notices).toEqual(["The page itself was not recorded, or is left out: nothing of it can be shown."]);
});

// PostHog/posthog#13269, PostHog/posthog-flutter#168, #144
test("an app's wireframes and screenshots are drawn, and their changes each as a page", () => {
  const base64 = "data:image/png;base64,iVBORw0KGgo=";
  const screenshot = { id: 7, type: "screenshot", base64, x: 0, y: 0, width: 400, height: 800 };
  const label = {
    id: 8,
    type: "text",
    text: "<b>Pay</b>",
    x: 10,
    y: 20,
    width: 30,
    height: 40,
    style: { color: "#f00", backgroundColor: 'url("https://evil.example")' },
  };
  const outer = { id: 9, type: "div", x: 0, y: 0, width: 400, height: 800, childWireframes: [label] };
  const { events, notices } = readPlayable([
    event.page(0, "app://screen"),
    { type: 2, timestamp: 1, data: { wireframes: [screenshot], initialOffset: { top: 0, left: 0 } } },
    { type: 3, timestamp: 2, data: { source: 0, adds: [{ parentId: 0, wireframe: outer }], removes: [] } },
    { type: 3, timestamp: 3, data: { source: 0, updates: [{ wireframe: { ...label, text: "Paid" } }] } },
    { type: 3, timestamp: 4, data: { source: 0, removes: [{ id: 7 }] } },
    { type: 3, timestamp: 5, data: { source: 2, type: 7, id: 8 } },
  ]);
  expect(notices).toEqual(["Recorded by an app: its screens are drawn from wireframes or screenshots."]);
  expect(events.map(({ type, timestamp }) => [type, timestamp])).toEqual([
    [4, 0],
    [2, 1],
    [2, 2],
    [2, 3],
    [2, 4],
    [3, 5],
  ]);
  const [first, second, third, fourth] = events.slice(1, 5).map(({ data }) => JSON.stringify(data));
  expect(first).toContain(`background: url(\\"${base64}\\")`);
  expect(second).toContain('"textContent":"<b>Pay</b>"');
  expect(second).toContain("left: 10px; top: 20px; width: 30px; height: 40px; color: #f00");
  expect(second).not.toContain("evil");
  expect(third).toContain('"textContent":"Paid"');
  expect(third).not.toContain("<b>Pay</b>");
  expect(fourth).not.toContain(base64);
});

test("no number of boxes, and no depth, makes a page that cannot be drawn", () => {
  let deep: object = { id: 1, x: 0, y: 0, width: 1, height: 1 };
  for (let i = 0; i < 20_000; i++) deep = { id: i, x: 0, y: 0, width: 1, height: 1, childWireframes: [deep] };
  const { events } = readPlayable([{ type: 2, timestamp: 1, data: { wireframes: [deep, null, "no"] } }]);
  expect(JSON.stringify(events).length).toBeLessThan(3_000_000);
  const changed = [
    { type: 3, timestamp: 2, data: { source: 0, adds: [{ wireframe: deep }], removes: [{ id: 3 }] } },
  ];
  expect(
    readPlayable([{ type: 2, timestamp: 1, data: { wireframes: [deep] } }, ...changed]).events,
  ).toHaveLength(2);
});

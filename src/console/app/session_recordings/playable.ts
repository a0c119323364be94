// The events of a window that can be played, and what of it cannot, in words.

import { type Fields, toFields, toList, toNumber, toText } from "../values.ts";
import { isPicture } from "./recorded_pages.ts";
import type { RecordedEvent } from "./snapshots.ts";

/** Types of rrweb's events. */
const [fullSnapshot, incremental, customEvent] = [2, 3, 5];

export function readPlayable(recorded: readonly RecordedEvent[]): {
  events: RecordedEvent[];
  notices: string[];
} {
  const notices: string[] = [];
  const isApp = recorded.some(hasWireframes);
  const drawn = isApp ? drawWireframes(recorded) : recorded;
  let [bytesLeftOut, compressed] = [0, 0];
  const events = drawn.filter((event) => {
    const { tag, payload, node } = toFields(event.data);
    if (event.type === customEvent && tag === "left_out")
      bytesLeftOut += toNumber(toFields(payload)["bytes"]) ?? 0;
    // The server sends as they came those that inflate past its bound, and those that are damaged.
    const isCompressed = "cv" in event && event.cv !== undefined;
    if (isCompressed) compressed++;
    return !isCompressed && (event.type !== fullSnapshot || typeof node === "object");
  });
  if (isApp) notices.push("Recorded by an app: its screens are drawn from wireframes or screenshots.");
  if (bytesLeftOut > 0)
    notices.push(
      `${(bytesLeftOut / 1e6).toFixed(1)} MB are left out: a part of it is too large to be played.`,
    );
  if (compressed > 0) notices.push(`${compressed} of its events are left out: too large or damaged.`);
  if (recorded.length > 1 && !events.some(({ type }) => type === fullSnapshot))
    notices.push("The page itself was not recorded, or is left out: nothing of it can be shown.");
  return { events, notices };
}

/** Boxes of one screen; a screen that is drawn has some hundreds. */
const boxesMax = 5000;
/** A source of incremental events. */
const mutation = 0;

/** Whether an event has wireframes instead of a page. */
function hasWireframes({ type, data }: RecordedEvent): boolean {
  return type === fullSnapshot && Array.isArray(toFields(data)["wireframes"]);
}

/**
 * The events of an app's recording with pages instead of wireframes. Each change becomes a page of its own, since rrweb
 * draws a page anew as often as it is sent one.
 */
function drawWireframes(events: readonly RecordedEvent[]): RecordedEvent[] {
  let roots: readonly unknown[] = [];
  return events.map((event) => {
    const { source, wireframes, adds, updates, removes } = toFields(event.data);
    if (hasWireframes(event)) roots = toList(wireframes);
    else if (event.type === incremental && source === mutation) {
      const changed = [...toList(adds), ...toList(updates)].map((change) => toFields(change)["wireframe"]);
      const removedIds = new Set(toList(removes).map((removal) => toFields(removal)["id"]));
      const { list, missing } = replaceBoxes(roots, changed, removedIds);
      roots = [...list, ...missing];
    } else return event;
    return { ...event, type: fullSnapshot, data: drawPage(roots) };
  });
}

/** The boxes with changed ones in the place of those of their id, without those that are gone. */
function replaceBoxes(boxes: readonly unknown[], changed: readonly unknown[], gone: ReadonlySet<unknown>) {
  const byId = new Map(changed.map((box) => [toFields(box)["id"], box]));
  const replace = (list: readonly unknown[], depth: number): unknown[] =>
    list.flatMap((box) => {
      const { id, childWireframes } = toFields(box);
      const change = byId.get(id);
      byId.delete(id);
      if (gone.has(id)) return [];
      if (change !== undefined) return [change];
      const children = depth > 0 ? replace(toList(childWireframes), depth - 1) : [];
      return [{ ...toFields(box), childWireframes: children }];
    });
  return { list: replace(boxes, depthMax), missing: [...byId.values()] };
}

const depthMax = 50;

/** A page in rrweb's form with a box for each wireframe, at its place on the screen. */
function drawPage(roots: readonly unknown[]): object {
  let id = 1;
  const make = (tagName: string, attributes: object, childNodes: object[]) => ({
    type: 2,
    id: ++id,
    tagName,
    attributes,
    childNodes,
  });
  const boxes: object[] = [];
  const pending = [...roots].toReversed();
  while (pending.length > 0 && boxes.length < boxesMax) {
    const box = toFields(pending.pop());
    const texts = [toText(box["text"]) || toText(box["label"]) || toText(box["value"])].filter(Boolean);
    const children = texts.map((textContent) => ({ type: 3, id: ++id, textContent }));
    boxes.push(make("div", { style: readStyle(box) }, children));
    pending.push(...toList(box["childWireframes"]).toReversed());
  }
  const body = make("body", { style: "margin: 0; font-family: sans-serif" }, boxes);
  const html = make("html", {}, [make("head", {}, []), body]);
  return { node: { type: 0, id: 1, childNodes: [html] }, initialOffset: { top: 0, left: 0 } };
}

/** The style of a box, of numbers, colours and pictures only: it is untrusted. */
function readStyle(box: Fields): string {
  const style = toFields(box["style"]);
  const pixels = (value: unknown) => `${toNumber(value) ?? 0}px`;
  const colour = (value: unknown, fallback: string) =>
    /^#[0-9a-f]{3,8}$/i.test(toText(value)) ? toText(value) : fallback;
  const parts = [
    "position: absolute; box-sizing: border-box; overflow: hidden",
    `left: ${pixels(box["x"])}; top: ${pixels(box["y"])}`,
    `width: ${pixels(box["width"])}; height: ${pixels(box["height"])}`,
    `color: ${colour(style["color"], "#000")}; background-color: ${colour(style["backgroundColor"], "transparent")}`,
    `border: ${pixels(style["borderWidth"])} solid ${colour(style["borderColor"], "#888")}`,
    `border-radius: ${pixels(style["borderRadius"])}; font-size: ${toNumber(style["fontSize"]) ?? 14}px`,
  ];
  const picture = [box["base64"], `data:image/png;base64,${toText(box["base64"])}`].find(isPicture);
  if (picture) parts.push(`background: url("${picture}") 0 0 / 100% 100% no-repeat`);
  return parts.join("; ");
}

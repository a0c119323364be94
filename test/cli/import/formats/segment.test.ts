// Segment's calls as events: the values move as they were written.

import { expect, test } from "bun:test";
import type { JsonRecord } from "../../../../src/cli/import/formats/record.ts";
import { mapSegment, segmentTypes } from "../../../../src/cli/import/formats/segment.ts";

const at = "2024-05-01T10:00:00.123456Z";

function recordOf(text: string): JsonRecord {
  const value = JSON.parse(text) as Record<string, unknown>;
  const toUuid = (of: string) => of.replaceAll("\n", "|");
  return { text, value, ownUuid: () => "own", toUuid, devices: new Map() };
}

function mapped(call: object | string): Record<string, unknown> {
  const text = typeof call === "string" ? call : JSON.stringify({ timestamp: at, ...call });
  const outcome = mapSegment(recordOf(text), { nowMs: Date.UTC(2026, 0, 1), dates: "refused" });
  return outcome.is === "rewritten"
    ? (JSON.parse(outcome.text) as Record<string, unknown>)
    : { reason: "reason" in outcome && outcome.reason };
}

test("a call without what its kind needs is rejected, and so is what is no call", () => {
  for (const type of ["track", "group", "alias"]) {
    expect(mapped({ type, userId: "u" })["reason"]).toStartWith(`a ${type} call without`);
  }
  expect(mapped({ type: "delete" })["reason"]).toBe('not a Segment call: type is "delete"');
  expect(mapped({})["reason"]).toBe("not a Segment call: type is missing");
  for (const type of segmentTypes)
    expect(mapped({ type, timestamp: "soon" })["reason"]).toContain("timestamp");
});

test("numbers keep their digits, and the time keeps its fraction", () => {
  const text = `{"type":"track","event":"buy","userId":"u","timestamp":"${at}","properties":{"n":12345678901234567890,"f":1.0}}`;
  const outcome = mapSegment(recordOf(text), { nowMs: Date.UTC(2026, 0, 1), dates: "refused" });
  expect(outcome).toMatchObject({ is: "rewritten" });
  const sent = "text" in outcome ? outcome.text : "";
  expect(sent).toContain('"n":12345678901234567890,"f":1.0');
  expect(sent).toContain(`"timestamp":"${at}"`);
});

test("the uuid is of the call's own id and its event and user, or else of the record", () => {
  const call = { type: "track", event: "buy", userId: "u" };
  expect(mapped({ ...call, messageId: "m" })["uuid"]).toBe("segment|buy|u|m");
  expect(mapped(call)["uuid"]).toBe("own");
});

test("an identify call sets the traits and joins both ids", () => {
  const call = { type: "identify", userId: "u", anonymousId: "anon", traits: { plan: "pro" } };
  expect(mapped(call)).toMatchObject({
    event: "$identify",
    distinct_id: "u",
    properties: { $set: { plan: "pro" }, $anon_distinct_id: "anon", analytics_source: "segment" },
  });
  const anonymous = mapped({ type: "identify", anonymousId: "anon", context: { traits: { a: 1 } } });
  expect(anonymous).toMatchObject({ distinct_id: "anon", properties: { $set: { a: 1 } } });
  expect(anonymous["properties"]).not.toHaveProperty("$anon_distinct_id");
});

test("a group's call sets the group; other calls are in the group of their context only", () => {
  const $groups = { segment_group: "g" };
  expect(mapped({ type: "group", userId: "u", groupId: "g", traits: { size: 3 } })).toMatchObject({
    event: "$groupidentify",
    properties: { $group_type: "segment_group", $group_key: "g", $group_set: { size: 3 }, $groups },
  });
  const track = { type: "track", event: "buy", userId: "u" };
  expect(mapped({ ...track, context: { groupId: "g" } })).toMatchObject({ properties: { $groups } });
  expect(mapped(track)["properties"]).not.toHaveProperty("$groups");
});

test("an alias names the earlier id as its user", () => {
  const to = { event: "$create_alias", distinct_id: "old", properties: { alias: "u" } };
  expect(mapped({ type: "alias", previousId: "old", userId: "u" })).toMatchObject(to);
  expect(mapped({ type: "alias", anonymousId: "old", userId: "u" })).toMatchObject(to);
  // segmentio/analytics-ruby#181: the spec asks for a user or an anonymous id.
  expect(mapped({ type: "alias", previousId: "old", anonymousId: "u" })).toMatchObject(to);
  for (const id of ["previousId", "anonymousId", "userId"])
    expect(mapped({ type: "alias", [id]: "u" })["reason"]).toStartWith("a alias call without");
});

test("pages and screens have the names that PostHog gives them, and properties of the context", () => {
  const page = {
    type: "page",
    userId: "u",
    name: "Home",
    properties: { url: "https://a.example/", path: "/" },
  };
  expect(
    mapped({ ...page, context: { page: { url: "other" }, os: { name: "macOS" }, ip: "::1" } }),
  ).toMatchObject({
    event: "$pageview",
    properties: { $pathname: "/", name: "Home", $os: "macOS", $ip: "::1" },
  });
  expect(mapped({ type: "screen", userId: "u", properties: { name: "Cart" } })).toMatchObject({
    event: "$screen",
    properties: { $screen_name: "Cart" },
  });
});

// What definitions show of what nobody has noted, and of what somebody has.

import { expect, test } from "bun:test";
import { eventReply, propertyReply } from "../../src/definitions/model.ts";
import type { Note } from "../../src/definitions/note_store.ts";

const at = "2024-03-05 10:00:00.000000";
const iso = "2024-03-05T10:00:00.000000Z";
const event = { id: "e", name: "purchase", created_at: at, last_seen_at: at, volume: "7" };
const property = {
  id: "p",
  name: "plan",
  kind: 3,
  group_type: "company",
  property_type: "Numeric",
  created_at: at,
  is_seen: 1,
};
const note: Note = {
  id: "e",
  description: "Paid.",
  tags: ["money"],
  verified: true,
  hidden: false,
  owner: null,
  primary_property: "order_id",
  updated_at: iso,
  updated_by: null,
  verified_at: iso,
  verified_by: null,
};

test("an event of which nobody has said anything has empty notes", () => {
  const { description, tags, verified, owner, primary_property, updated_at } = eventReply(event);
  expect([description, tags, verified, owner, primary_property, updated_at]).toEqual([
    null,
    [],
    false,
    null,
    null,
    iso,
  ]);
});

test("an event that was never seen has no time of its last one", () => {
  const { last_seen_at, last_updated_at } = eventReply({ ...event, last_seen_at: "" });
  expect([last_seen_at, last_updated_at]).toEqual([null, iso]);
});

test("a note is shown with its event, which keeps its own id", () => {
  const { id, description, primary_property } = eventReply(event, { ...note, id: "other" });
  expect([id, description, primary_property]).toEqual(["e", "Paid.", "order_id"]);
});

test("a property has the index of its type of groups, and no primary property", () => {
  const shown = propertyReply(property, new Map([["company", 2]]), true, note);
  expect([shown.type, shown.group_type_index, shown.is_numerical]).toEqual(["group", 2, true]);
  expect([shown.is_seen_on_filtered_events, shown.tags]).toEqual([true, ["money"]]);
  expect("primary_property" in shown).toBe(false);
});

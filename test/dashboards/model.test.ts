// The fields of dashboards and their tiles: what is read, what PostHog's clients send back, what is refused by name.

import { expect, test } from "bun:test";
import { Fault } from "../../src/core/fault.ts";
import { limits } from "../../src/core/limits.ts";
import { dashboardLimits } from "../../src/dashboards/limits.ts";
import { dashboardBody, dashboardChangeBody, dashboardModel } from "../../src/dashboards/model.ts";
import { checkFields } from "../../src/http/fields/field_check.ts";

function read(value: object, purpose: "make" | "change" = "change"): unknown {
  try {
    return purpose === "make"
      ? checkFields(dashboardBody, value)
      : checkFields(dashboardChangeBody, value, "change");
  } catch (thrown) {
    if (thrown instanceof Fault) return `${thrown.code} ${thrown.attr}`;
    throw thrown;
  }
}

test("a new dashboard needs nothing, and has its defaults", () => {
  expect(read({}, "make")).toEqual({ name: null, description: "", pinned: false, tags: [], deleted: false });
  expect(read({})).toEqual({});
});

test("texts and tags have their lengths, up to which they are read", () => {
  const [name, description, tag] = ["n".repeat(400), "d".repeat(4000), "t".repeat(255)];
  expect(read({ name, description, tags: [tag] })).toEqual({ name, description, tags: [tag] });
  expect(read({ name: `${name}n` })).toBe("max_length name");
  expect(read({ description: `${description}d` })).toBe("max_length description");
  expect(read({ tags: Array.from({ length: limits.tagsMax }, (_, i) => `t${i}`) })).toBeObject();
  expect(read({ tags: Array.from({ length: limits.tagsMax + 1 }, (_, i) => `t${i}`) })).toStartWith(
    "max_length tags",
  );
});

test("what has no effect here is refused by its name, unless its value means nothing", () => {
  for (const name of ["filters", "variables", "use_template", "use_dashboard"]) {
    expect(read({ [name]: { a: 1 } })).toBe(`invalid_input ${name}`);
    expect(read({ [name]: null })).toEqual({});
  }
  expect([read({ restriction_level: 21 }), read({ restriction_level: 37 })]).toEqual([
    {},
    "invalid_input restriction_level",
  ]);
  expect(read({ colour: "red" })).toEndWith(" colour");
});

test("tiles are made by a change alone", () => {
  expect(read({ tiles: [{ text: { body: "hi" } }] }, "make")).toBe("invalid_input tiles");
  expect(read({ tiles: [{ text: { body: "hi" } }] })).toEqual({ tiles: [{ text: { body: "hi" } }] });
  const most = Array.from({ length: dashboardLimits.tilesMax }, () => ({ id: 1 }));
  expect(read({ tiles: most })).toEqual({ tiles: most });
  expect(read({ tiles: [...most, { id: 1 }] })).toStartWith("max_length tiles");
});

test("a tile that is sent back whole loses what no request sets", () => {
  const tile = {
    id: 3,
    order: 0,
    insight: { id: 5, name: "x" },
    is_cached: true,
    last_refresh: "2026-01-01T00:00:00Z",
    layouts: { sm: { x: 0, y: 0, w: 6, h: 5 }, xs: null },
    color: null,
  };
  const { id, layouts, color } = tile;
  expect(read({ tiles: [tile] })).toEqual({ tiles: [{ id, layouts, color }] });
});

test("a place is in the grid: whole numbers from 0 to its bound", () => {
  const at = (more: object) =>
    read({ tiles: [{ id: 1, layouts: { sm: { x: 0, y: 0, w: 6, h: 5, ...more } } }] });
  expect(at({ y: 10_000, minW: 3 })).toBeObject();
  expect(at({ y: 10_001 })).toBe("max_value tiles__0__layouts__sm__y");
  expect(at({ x: -1 })).toBe("min_value tiles__0__layouts__sm__x");
  expect(at({ w: "wide" })).toStartWith("invalid");
});

test("a text has its bound, and a tile no filters of its own", () => {
  const body = "x".repeat(dashboardLimits.textCharsMax);
  expect(read({ tiles: [{ text: { body } }] })).toEqual({ tiles: [{ text: { body } }] });
  expect(read({ tiles: [{ text: { body: `${body}x` } }] })).toBe("max_length tiles__0__text__body");
  expect(read({ tiles: [{ id: 1, filters_overrides: { date_from: "-7d" } }] })).toBe(
    "invalid_input tiles__0__filters_overrides",
  );
});

test("a reply has what a list has, and its tiles", () => {
  expect(Object.keys(dashboardModel.properties).toSorted()).toEqual(
    [
      "access_control_version breakdown_colors created_at created_by creation_mode data_color_theme_id deleted",
      "description effective_privilege_level effective_restriction_level filters id is_shared last_accessed_at",
      "last_refresh name persisted_filters persisted_variables pinned quick_filter_ids restriction_level tags team_id tiles updated_at user_access_level variables",
    ].flatMap((names) => names.split(" ")),
  );
});

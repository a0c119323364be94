import { expect, test } from "bun:test";
import { otherSlug, toSlug } from "../../src/organizations/model.ts";

test("a slug is the name in small ASCII letters, digits, underscores and single hyphens", () => {
  expect(toSlug("Hedgebox Inc.")).toBe("hedgebox-inc");
  expect(toSlug("  Åre -- Ski_Club  ")).toBe("are-ski_club");
  expect(toSlug("a".repeat(64))).toHaveLength(48);
});

test("a name of which nothing is left gets a random slug", () => {
  expect(toSlug("日本")).toMatch(/^[0-9a-z]{8}$/);
});

test("another slug has the same beginning and the same bound", () => {
  expect(otherSlug("hedgebox")).toMatch(/^hedgebox-[0-9a-z]{4}$/);
  expect(otherSlug("a".repeat(48))).toHaveLength(48);
});

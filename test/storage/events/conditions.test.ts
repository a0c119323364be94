import { expect, test } from "bun:test";
import { buildConditions } from "../../../src/storage/events/conditions.ts";

test("the project comes first, and what is not requested does not filter", () => {
  expect(buildConditions(7, { event: undefined }, {})).toEqual({
    where: "project_id = {project_id:UInt32}",
    params: { project_id: 7 },
  });
});

test("values are parameters, never text of the statement", () => {
  const nasty = "' OR 1 = 1 --";
  const { where, params } = buildConditions(
    7,
    { event: nasty, distinct_id: nasty },
    { after: nasty, before: nasty },
  );
  expect(where).not.toContain(nasty);
  expect(where.split(" AND ").length).toBe(5);
  expect(params).toEqual({ project_id: 7, event: nasty, distinct_id: nasty, after: nasty, before: nasty });
});

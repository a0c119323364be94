import { afterAll, expect, test } from "bun:test";
import { changedSource } from "../support/changed_source.ts";
import { cleanUp } from "../support/cleanup.ts";

afterAll(cleanUp);

test("a metric belongs to its room: a new one is a line there, and is shown", async () => {
  const added = `    pixels: registry.counter("sluice_pixels_total", "Events that came as a pixel."),\n`;
  const source = changedSource({ "capture/metrics.ts": [["    registry,\n", added]] });
  expect(source.touched).toEqual(["capture/metrics.ts"]);
  const { openMetrics } =
    await source.load<typeof import("../../src/capture/metrics.ts")>("capture/metrics.ts");
  expect(openMetrics().registry.render()).toContain("\nsluice_pixels_total 0\n");
});

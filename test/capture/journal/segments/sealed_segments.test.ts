import { expect, test } from "bun:test";
import { captureSetup } from "../../../../src/capture/capture_journal.ts";
import { SealedSegments } from "../../../../src/capture/journal/segments/sealed_segments.ts";
import type { Segment } from "../../../../src/capture/journal/segments/segment.ts";

test("a segment that is removed twice takes no other from its lane", () => {
  const sealed = new SealedSegments(captureSetup);
  const [lane] = [...sealed.lanes.keys()];
  const [stored, waiting] = [1n, 2n].map((id): Segment => {
    const segment = {
      id,
      lane: lane!,
      path: `${id}`,
      bytes: 0,
      rows: 1,
      oldest: 0,
      batches: [],
      isRecovered: false,
    };
    sealed.add(segment);
    return segment;
  });
  sealed.remove(stored!);
  sealed.remove(stored!);
  expect(sealed.lanes.get(lane!)).toEqual([waiting!]);
});

import { expect, test } from "bun:test";
import { readSnapshots } from "../../../../src/console/app/session_recordings/snapshots.ts";

const event = (timestamp: number) => ({ type: 3, timestamp, data: {} });

test("pages of a recording are joined by window, in the order of time", async () => {
  const pages: Record<string, Parameters<typeof page>> = {
    "/first": [
      { a: [event(3), event(1)], b: [event(2)] },
      "http://elsewhere.example:9/next?start_blob_key=1",
    ],
    "/next?start_blob_key=1": [{ a: [event(2)] }, null],
  };
  const asked: string[] = [];
  const { windows, isWhole } = await readSnapshots("/first", async (path) => {
    asked.push(path);
    return page(...pages[path]!);
  });
  // A link's host is not believed: the key goes to this server only.
  expect(asked).toEqual(["/first", "/next?start_blob_key=1"]);
  expect(isWhole).toBe(true);
  expect(windows.get("a")?.map(({ timestamp }) => timestamp)).toEqual([1, 2, 3]);
  expect(windows.get("b")?.map(({ timestamp }) => timestamp)).toEqual([2]);
});

function page(snapshot_data_by_window_id: Record<string, ReturnType<typeof event>[]>, next: string | null) {
  return { snapshot_data_by_window_id, next };
}

test("a recording that is longer than a browser can hold is read in part, and says so", async () => {
  let pages = 0;
  const { isWhole } = await readSnapshots("/x", async () => {
    pages++;
    return page({ a: [event(pages)] }, "http://here.example/x");
  });
  expect(isWhole).toBe(false);
  expect(pages).toBeLessThan(100);
});

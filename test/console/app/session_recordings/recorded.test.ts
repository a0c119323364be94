import { expect, test } from "bun:test";
import { recordedIn } from "../../../../src/console/app/session_recordings/recorded.ts";
import { event } from "../../../support/recordings.ts";

const plugin = (timestamp: number, name: string, payload: object) => ({
  type: 6,
  timestamp,
  data: { plugin: name, payload },
});

test("lines of the console and requests are in the order of their times, whatever window they are of", () => {
  const request = { name: "https://shop.example/api", method: "POST", responseStatus: 503, duration: 12.5 };
  const windows = new Map([
    [
      "w1",
      [
        event.page(1, "http://x/"),
        plugin(30, "rrweb/console@1", { level: "warn", payload: ['"late"', '{"a":1}'] }),
      ],
    ],
    [
      "w2",
      [
        plugin(10, "rrweb/console@1", { level: "error", payload: ['"say \\"hi\\""', "no json"] }),
        plugin(40, "rrweb/network@1", { requests: [{ ...request, timestamp: 20 }, { name: "/b" }, null] }),
        plugin(50, "another@1", { requests: [request] }),
      ],
    ],
  ]);
  expect(recordedIn(windows)).toEqual({
    logs: [
      { at: 10, level: "error", text: 'say "hi" no json' },
      { at: 30, level: "warn", text: 'late {"a":1}' },
    ],
    requests: [
      { at: 20, method: "POST", url: "https://shop.example/api", status: 503, ms: 12.5 },
      { at: 40, method: "GET", url: "/b", status: undefined, ms: undefined },
      { at: 40, method: "GET", url: "", status: undefined, ms: undefined },
    ],
  });
});

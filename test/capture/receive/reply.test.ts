// Replies that are as long as their bodies had events: counted until they are read.

import { expect, test } from "bun:test";
import { Outcomes, type Reason, type Warning } from "../../../src/capture/fields/outcome.ts";
import { verboseReply } from "../../../src/capture/receive/reply.ts";
import { httpLimits } from "../../../src/http/limits.ts";
import { heldReplies } from "../../../src/http/pages/held_replies.ts";

const request = new Request("http://localhost/capture/?verbose=1", { method: "POST" });

function ignoring(events: number) {
  const ignored = Object.assign(new Outcomes<Reason>(), { isListed: true });
  for (let i = 0; i < events; i++) ignored.add(i, "malformed_event");
  return {
    project_id: 7_654_321,
    accepted: 1,
    recordingsUnwanted: false,
    ignored,
    warned: new Outcomes<Warning>(),
  };
}

test("a list of ignored events that nobody reads is counted for its project's captures", async () => {
  const reply = await verboseReply(request, ignoring(10_000));
  const held = heldReplies.heldBy("captures of 7654321");
  expect(held).toBeGreaterThan(10_000 * 20);
  const { ignored } = JSON.parse(await reply.text()) as { ignored: unknown[] };
  expect(ignored).toHaveLength(10_000);
  expect(heldReplies.heldBy("captures of 7654321")).toBe(0);
});

test("where there is no room for the list, the sender hears how many of its events were taken", async () => {
  const others = [1, 2].map(() => {
    const other = heldReplies.open();
    other.add(httpLimits.heldReplyBytesMax);
    return other;
  });
  const reply = await verboseReply(request, ignoring(10_000));
  for (const other of others) other.close();
  expect(reply.status).toBe(200);
  expect(await reply.json()).toMatchObject({ status: "Ok", accepted: 1, ignored: [], warnings: [] });
});

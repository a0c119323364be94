import { expect, test } from "bun:test";
import { openLog } from "../../src/core/log.ts";
import { startInterval } from "../../src/work/interval.ts";

function gathering() {
  const lines: string[] = [];
  const write = (line: string) => void lines.push((JSON.parse(line) as { message: string }).message);
  return { lines, log: openLog({ level: "info", format: "json", write }) };
}

test("a tick never overlaps itself, and none follows close()", async () => {
  let running = 0;
  let ticks = 0;
  const enough = Promise.withResolvers<void>();
  const tick = async () => {
    running++;
    expect(running).toBe(1);
    await Bun.sleep(3);
    running--;
    if (++ticks === 5) enough.resolve();
  };
  const ticking = startInterval(1, "ticking", tick, gathering().log);
  await enough.promise;
  await ticking.close();
  const after = ticks;
  await Bun.sleep(10);
  expect([running, ticks]).toEqual([0, after]);
});

test("a tick that fails is reported once, and once more when it works again", async () => {
  const { lines, log } = gathering();
  let ticks = 0;
  const enough = Promise.withResolvers<void>();
  const tick = () => {
    if (++ticks === 6) enough.resolve();
    return ticks <= 3 ? Promise.reject(new Error("not yet")) : Promise.resolve();
  };
  const ticking = startInterval(1, "the thing", tick, log);
  await enough.promise;
  await ticking.close();
  expect(lines).toEqual(["the thing failed", "the thing works again"]);
});

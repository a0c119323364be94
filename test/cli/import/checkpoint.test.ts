import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Bodies, type Body } from "../../../src/cli/import/body.ts";
import { Checkpoint, type ImportInputs } from "../../../src/cli/import/checkpoint.ts";
import { noCounts } from "../../../src/cli/import/counts.ts";
import { ImportSetup } from "./setup.ts";

let setup: ImportSetup;
beforeAll(async () => void (setup = await ImportSetup.open()));
afterAll(async () => await setup.close());

const identity: ImportInputs = {
  files: [{ path: "a.jsonl", size: 10, head: "00" }],
  host: "http://127.0.0.1:1",
  key: "sha256$00",
  format: "auto",
  bytes_max: 100,
  rows_max: 10,
};

function bodiesOf(...rows: string[]): Body[] {
  const bodies = new Bodies("k", { bytesMax: 1, rowsMax: 1 });
  return rows.map((row) => {
    bodies.openBody().addText(row);
    bodies.openBody().endRow(0, 1);
    return bodies.seal();
  });
}

const one = { ...noCounts(), sent: 1, accepted: 1 };

describe("a checkpoint", () => {
  test("knows in the next run what was answered, in whatever order, and when the import began", async () => {
    const path = setup.path("order");
    const bodies = bodiesOf('{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}');
    const first = await Checkpoint.open(path, identity, 123);
    expect(first.resumed).toBe(false);
    for (const number of [2, 0, 3]) first.add(number, bodies[number]!.chain, one);
    await first.save();
    const second = await Checkpoint.open(path, identity, 456);
    expect(second.resumed).toBe(true);
    expect(second.startedAtMs).toBe(123);
    expect(second.counts).toMatchObject({ sent: 3, accepted: 3 });
    expect(bodies.map((body) => second.has(body))).toEqual([true, false, true, true]);
    second.add(1, bodies[1]!.chain, one);
    await second.save();
    const third = await Checkpoint.open(path, identity, 789);
    expect(bodies.every((body) => third.has(body))).toBe(true);
    expect(third.hasBeyond(4)).toBe(false);
    expect(third.hasBeyond(3)).toBe(true);
    await third.remove();
    expect(await Bun.file(path).exists()).toBe(false);
  });

  test("is not fooled by files that have changed in the middle", async () => {
    const path = setup.path("changed");
    const first = await Checkpoint.open(path, identity, 0);
    for (const body of bodiesOf('{"n":0}', '{"n":1}')) first.add(body.number, body.chain, one);
    await first.save();
    const second = await Checkpoint.open(path, identity, 0);
    const [zero, changed] = bodiesOf('{"n":9}', '{"n":1}');
    expect(second.has(zero!)).toBe(true);
    expect(() => second.has(changed!)).toThrow(`the files have changed since ${path} was written`);
  });

  test.each([
    [{ files: [{ path: "b.jsonl", size: 10, head: "00" }] }, "it read a.jsonl"],
    [{ files: [{ path: "a.jsonl", size: 11, head: "00" }] }, "a.jsonl has changed since"],
    [{ files: [{ path: "a.jsonl", size: 10, head: "01" }] }, "a.jsonl has changed since"],
    [{ host: "http://127.0.0.1:2" }, "it sent to http://127.0.0.1:1"],
    [{ key: "sha256$01" }, "it used another API key"],
    [{ format: "csv" }, "it read with --format auto"],
  ])("of another import is refused: %p", async (change, message) => {
    const path = setup.path("other");
    await (await Checkpoint.open(path, identity, 0)).save();
    const opened = Checkpoint.open(path, { ...identity, ...change }, 0);
    await expect(opened).rejects.toThrow(
      `${path} is the checkpoint of another import: ${message}; remove it`,
    );
  });

  test("is no file of somebody else's", async () => {
    const path = await setup.write("foreign", '{"name":"package"}');
    await expect(Checkpoint.open(path, identity, 0)).rejects.toThrow(
      `${path} is not a checkpoint of this command`,
    );
    expect(await Bun.file(path).text()).toBe('{"name":"package"}');
  });

  test("that cannot be written is reported before anything is sent", async () => {
    const path = setup.path("no/such/folder");
    await expect(Checkpoint.open(path, identity, 0)).rejects.toThrow(`cannot write the checkpoint ${path}`);
  });
});

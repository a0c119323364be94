import { expect, test } from "bun:test";
import { type Answers, type Rpc, openRpc } from "../../src/work/rpc.ts";

/** Two ends of a pipe that carries each line in a turn of its own. */
function linked(left: Answers, right: Answers): [left: Rpc, right: Rpc] {
  const ends: { left?: Rpc; right?: Rpc } = {};
  ends.left = openRpc((line) => queueMicrotask(() => ends.right?.take(line)), left);
  ends.right = openRpc((line) => queueMicrotask(() => ends.left?.take(line)), right);
  return [ends.left, ends.right];
}

test("what is asked is answered, both ways, each answer to its own question", async () => {
  const [left, right] = linked(
    { twice: (n: number) => n * 2 },
    { later: async (n: number) => (await Bun.sleep(n), n), nothing: () => {} },
  );
  expect(await right.ask("twice", 21)).toBe(42);
  expect(await Promise.all([left.ask("later", 6), left.ask("later", 1)])).toEqual([6, 1]);
  expect(await left.ask("nothing")).toBeUndefined();
});

test("what is told is heard in order", async () => {
  const heard: unknown[] = [];
  const [left, right] = linked({}, { say: (word: string) => void heard.push(word), last: () => {} });
  for (const word of ["a", "b", "ü\n"]) left.tell("say", word);
  await left.ask("last");
  expect(heard).toEqual(["a", "b", "ü\n"]);
  right.tell("nobody listens to this");
});

test("who asks is told when the other side fails, is silent, or is gone", async () => {
  const [left] = linked(
    {},
    {
      fails: () => {
        throw Object.assign(new Error("no room"), { code: "FULL" });
      },
      silent: () => new Promise(() => {}),
    },
  );
  expect(left.ask("fails")).rejects.toMatchObject({ message: "no room", code: "FULL" });
  expect(left.ask("silent", null, 1)).rejects.toThrow("within 1 ms");
  const waiting = left.ask("silent");
  left.end();
  expect(waiting).rejects.toThrow("gone");
  expect(left.ask("fails")).rejects.toThrow("gone");
});

test("lines that are none of a link are passed over", async () => {
  const [left] = linked({}, { one: () => 1 });
  for (const line of ["", "noise", "null", "3", '{"id":77,"content":"an answer nobody waits for"}', "{}"])
    left.take(line);
  expect(await left.ask("one")).toBe(1);
});

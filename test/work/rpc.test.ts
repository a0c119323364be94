import { expect, test } from "bun:test";
import { type Answers, openRpc, type Rpc } from "../../src/work/rpc.ts";

/** Two ends of a channel that carries each message in a turn of its own. */
function linked(left: Answers, right: Answers): [left: Rpc, right: Rpc] {
  const ends: { left?: Rpc; right?: Rpc } = {};
  ends.left = openRpc((message) => queueMicrotask(() => ends.right?.receive(message)), left);
  ends.right = openRpc((message) => queueMicrotask(() => ends.left?.receive(message)), right);
  return [ends.left, ends.right];
}

test("what is asked is answered, both ways, each answer to its own question", async () => {
  const [left, right] = linked(
    { twice: (n: number) => n * 2 },
    { later: async (n: number) => (await Bun.sleep(n), n), nothing: () => {} },
  );
  expect(await right.request("twice", 21)).toBe(42);
  expect(await Promise.all([left.request("later", 6), left.request("later", 1)])).toEqual([6, 1]);
  expect(await left.request("nothing")).toBeUndefined();
});

test("what is told is heard in order", async () => {
  const heard: unknown[] = [];
  const [left, right] = linked({}, { say: (word: string) => void heard.push(word), last: () => {} });
  for (const word of ["a", "b", "ü\n"]) left.send("say", word);
  await left.request("last");
  expect(heard).toEqual(["a", "b", "ü\n"]);
  right.send("nobody listens to this");
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
  expect(left.request("fails")).rejects.toMatchObject({ message: "no room", code: "FULL" });
  expect(left.request("silent", null, 1)).rejects.toThrow("within 1 ms");
  const waiting = left.request("silent");
  left.end();
  expect(waiting).rejects.toThrow("gone");
  expect(left.request("fails")).rejects.toThrow("gone");
});

test("answers that nobody waits for, and kinds that nobody knows, are passed over", async () => {
  const [left] = linked({}, { one: () => 1 });
  for (const message of [{}, { id: 77, content: "late" }, { kind: "unknown", id: 3 }]) left.receive(message);
  expect(await left.request("one")).toBe(1);
});

test("a process that has ended is told nothing more, and what is asked of it fails when that is known", async () => {
  const gone = openRpc(() => {
    throw new Error("the channel is closed");
  }, {});
  gone.send("news");
  const waiting = gone.request("news");
  gone.end();
  expect(waiting).rejects.toThrow("gone");
});

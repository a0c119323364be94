import { expect, test } from "bun:test";
import { type Answers, type Rpc, openRpc } from "../../src/work/rpc.ts";

/** Two ends of a channel that carries each message in a turn of its own. */
function linked(left: Answers, right: Answers): [left: Rpc, right: Rpc] {
  const ends: { left?: Rpc; right?: Rpc } = {};
  ends.left = openRpc((message) => queueMicrotask(() => ends.right?.take(message)), left);
  ends.right = openRpc((message) => queueMicrotask(() => ends.left?.take(message)), right);
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

test("answers that nobody waits for, and kinds that nobody knows, are passed over", async () => {
  const [left] = linked({}, { one: () => 1 });
  for (const message of [{}, { id: 77, content: "late" }, { kind: "unknown", id: 3 }]) left.take(message);
  expect(await left.ask("one")).toBe(1);
});

test("a process that has ended is told nothing more, and what is asked of it fails when that is known", async () => {
  const gone = openRpc(() => {
    throw new Error("the channel is closed");
  }, {});
  gone.tell("news");
  const waiting = gone.ask("news");
  gone.end();
  expect(waiting).rejects.toThrow("gone");
});

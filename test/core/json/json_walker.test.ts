import { expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { JsonWalker } from "../../../src/core/json/json_walker.ts";

/** Walked over in slices of so many bytes. */
function isJson(text: string, slice: number, depthMax = 100): boolean {
  const bytes = new TextEncoder().encode(text);
  const walk = new JsonWalker(bytes, depthMax);
  const goOn = () => (walk.goal = Math.min(bytes.length, walk.at + slice));
  try {
    goOn();
    for (let isPast = walk.skip(0); !isPast; isPast = walk.resume()) goOn();
    walk.goal = bytes.length;
    return walk.peek() === -1;
  } catch (thrown) {
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const sound = [
  "0",
  "-1.5e+3",
  '""',
  "null",
  " [ ] ",
  '{"a":{"b":[1,true,"\\u00e9\\n\\"",{}]},"c":[]}',
  '"a long text of ordinary letters, with é and \\\\ at its end\\\\"',
  '[[],{},[[1],[2,{"x":"y"}]]]\n',
];

test("what JSON.parse takes is JSON, however small the slices", () => {
  for (const text of sound) {
    for (const slice of [1, 2, 7, 1000])
      expect([text, slice, isJson(text, slice)]).toEqual([text, slice, true]);
  }
});

test("what JSON.parse refuses is none: every cut, every changed byte", () => {
  const odd = [
    "",
    "[",
    "[,]",
    "[1,]",
    "{,}",
    '{"a"}',
    '{"a":1,}',
    "{1:2}",
    "01",
    "+1",
    "1.",
    ".5",
    "1e",
    "NaN",
    "nul",
  ];
  odd.push(
    '"\\x"',
    '"\\u12g4"',
    '"\t"',
    "[}",
    "{]",
    "]",
    "[] []",
    "1 2",
    '"a',
    "[1 2]",
    '{"a" 1}',
    "[true false]",
  );
  for (const text of odd)
    for (const slice of [1, 1000]) expect([text, isJson(text, slice)]).toEqual([text, false]);
  const whole = '{"a":[1,-2.5e3,"b\\u0041",true,null,{"c":{}}],"d":"e"}';
  const letters = '{}[]",:\\01eEtn -.';
  for (let at = 0; at < whole.length; at++) {
    expect(isJson(whole.slice(0, at), 5)).toBe(false);
    for (const letter of letters) {
      const changed = whole.slice(0, at) + letter + whole.slice(at + 1);
      expect([changed, isJson(changed, 3)]).toEqual([changed, parses(changed)]);
    }
  }
});

test("what is nested deeper than the bound is none", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(isJson(nested(100), 1000, 100)).toBe(true);
  expect(isJson(nested(101), 1000, 100)).toBe(false);
  expect(isJson("[".repeat(1_000_000), 1000, 100)).toBe(false);
});

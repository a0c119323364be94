// Where in an event something was repaired: the path to each mark of a text, and the text around it.

import { expect, test } from "bun:test";
import { locateRepair } from "../../../src/capture/decode/repaired_place.ts";
import { captureLimits } from "../../../src/capture/limits.ts";

/** The places of "�" and of the first letter of `null` in an item that follows others. */
function places(item: string) {
  const before = `[{"a":["null"]},`;
  const bytes = Buffer.from(`${before + item},{}]`);
  return [...item.matchAll(/\ufffd|null/g)].map(({ index }) => {
    return locateRepair(bytes, before.length, before.length + Buffer.byteLength(item.slice(0, index)));
  });
}

test("a repaired number is found by its path", () => {
  const item = `{"event":"e","properties":{"list":[1,{"p":[]},[ "x" , null ]],"b":null,"c":{"d" : null}},"e":null}`;
  expect(places(item)).toEqual([
    { field: "properties.list.2.1" },
    { field: "properties.b" },
    { field: "properties.c.d" },
    { field: "e" },
  ]);
});

test("a repaired text is found by its path and shown, and a name as far as it is sound", () => {
  const item = `{"p":{"a]\\"":["{\\\\\\"", "so\\"me � text"],"na�me":{"x":1}},"�":2}`;
  expect(places(item)).toEqual([
    { field: 'p.a]\\".1', value: '"so\\"me � text"' },
    { field: "p.na", value: '"na�me"' },
    { field: "", value: '"�"' },
  ]);
});

test("of a long text the part around the repair is shown, and nothing of one far behind", () => {
  const [place] = places(`{"t":"${"x".repeat(9000)}�${"y".repeat(9000)}"}`);
  expect(place!.value).toHaveLength(captureLimits.warningValueCharsMax);
  expect(place!.value).toMatch(/^x+�y+$/);
  expect(places(`{"t":"${"x".repeat(captureLimits.warningSearchBytesMax)}�"}`)).toEqual([{}]);
  expect(locateRepair(Buffer.from("{}"), 0, -1)).toEqual({});
});

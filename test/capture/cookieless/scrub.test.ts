import { expect, test } from "bun:test";
import fc from "fast-check";
import { readVisitorFacts, scrub } from "../../../src/capture/cookieless/scrub.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const visitor = { distinct_id: "cookieless_v", device_id: "cookielessd_v", session_id: "s" };
const told = ["$ip", "$raw_user_agent", "$cookieless_extra"];
const ofSets = [...told, "$initial_ip", "$initial_raw_user_agent"];

type Members = Record<string, unknown>;

const key = fc.constantFrom(
  ...ofSets,
  "$distinct_id",
  "$device_id",
  "$session_id",
  "a",
  "b c",
  "ä",
  "$ipp",
  '"',
  "\\",
);
const sets = fc.option(fc.oneof(fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })), fc.jsonValue()), {
  nil: undefined,
});
const properties = fc
  .tuple(
    fc.dictionary(key, fc.jsonValue({ maxDepth: 2 })),
    fc.record({ $set: sets, $set_once: sets, distinct_id: fc.string() }),
  )
  .map(([some, more]): Members => ({ ...some, ...more }));
const event = fc
  .record({
    event: fc.constant("e"),
    distinct_id: fc.string(),
    properties,
    $set: sets,
    $set_once: sets,
    ip: fc.string(),
  })
  .map((all): Members => all);

/** Every other character as an escape, where it may be one. */
function escaped(json: string): string {
  let i = 0;
  return json.replaceAll(/\$[a-z_]+/g, (name) =>
    name.replaceAll(/[a-z_$]/g, (letter) =>
      i++ % 2 === 0 ? letter : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  );
}

function without(value: unknown, names: string[]): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

/** The rule in as few words as possible. */
function naive(all: Members, isVisit: boolean): Members {
  const scrubbedSets = (members: Members) =>
    Object.fromEntries(
      Object.entries(members).map(([name, value]) => [
        name,
        name === "$set" || name === "$set_once" ? without(value, ofSets) : value,
      ]),
    );
  const own = scrubbedSets(all);
  const inner = scrubbedSets(without(all["properties"], told) as Members);
  if (!isVisit) return { ...own, properties: inner };
  const { distinct_id, device_id: $device_id, session_id: $session_id } = visitor;
  const ids = { distinct_id, $distinct_id: distinct_id, $device_id, $session_id };
  return { ...own, distinct_id, properties: { ...inner, ...ids } };
}

test("an event is scrubbed as a parser would do it, whatever its keys, values and blanks", () => {
  fc.assert(
    fc.property(
      event,
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(undefined, 1, "\t"),
      (all, isVisit, odd, blanks) => {
        const json = JSON.stringify(all, null, blanks);
        const bytes = toBytes(`,${odd ? escaped(json) : json}]`);
        const out = scrub(bytes, 1, isVisit ? visitor : undefined);
        const [sent] = JSON.parse(JSON.stringify([all])) as [Members];
        expect(JSON.parse(new TextDecoder().decode(out))).toEqual([naive(sent, isVisit)]);
      },
    ),
    { numRuns: 2000 },
  );
});

test("what an event tells of its visitor is the last of two texts of one name, and nothing that is no text", () => {
  const read = (json: string) => readVisitorFacts(toBytes(json), 0);
  expect(read('{"$ip":"1","$host":"h","$ip":"2","$timezone":"a\\nb"}')).toEqual({
    $ip: "2",
    $host: "h",
    $timezone: "a\nb",
  });
  expect(read('{"$ip":"1","$ip":null,"$host":7,"$raw_user_agent":{"$ip":"x"}}')).toEqual({});
  expect(read("{}")).toEqual({});
});

// Which members matter, found by their names' bytes, and what is seen of those whose type alone matters.

import { expect, test } from "bun:test";
import {
  entryLength,
  envelope,
  envelopeKeys,
  field,
  firstTrait,
  grade,
  gradeIn,
  gradeValue,
  itemKeys,
  keySlot,
  noSlot,
  propertyKeys,
  toEscapedSlot,
  toSlot,
  trait,
  valueKind,
} from "../../../src/capture/fields/event_fields.ts";
import { toBytes } from "../../../src/core/bytes.ts";

const slot = (keys: typeof itemKeys, name: string) => toSlot(keys, toBytes(name), 0, toBytes(name).length);

test("each object has names of its own", () => {
  expect(slot(itemKeys, "event")).toBe(field.event);
  expect(slot(itemKeys, "$distinct_id")).toBe(field.distinct_id);
  expect(slot(itemKeys, "$groups")).toBe(noSlot);
  expect(slot(propertyKeys, "$groups")).toBe(field.$groups);
  expect(slot(propertyKeys, "distinct_id")).toBe(field.properties_distinct_id);
  expect(slot(propertyKeys, "$screen_name")).toBe(firstTrait + trait.$screen_name);
  expect(slot(envelopeKeys, "batch")).toBe(envelope.batch);
  for (const keys of [itemKeys, propertyKeys]) expect(slot(keys, "token")).toBe(keySlot);
});

test("a name that is longer, shorter, or has another letter is none", () => {
  for (const name of ["", "e", "even", "events", "evend", "Event", "distinct_ie", "x".repeat(4000)])
    expect(slot(itemKeys, name)).toBe(noSlot);
});

test("a name with escapes is the same name; one too long for any is not decoded", () => {
  const escaped = toBytes(String.raw`\u0065ven\u0074`);
  expect(toEscapedSlot(itemKeys, escaped, 0, escaped.length)).toBe(field.event);
  const long = toBytes(String.raw`\u0065`.repeat(1000));
  expect(toEscapedSlot(itemKeys, long, 0, long.length)).toBe(noSlot);
});

test("a raw value is sound, empty, absent or wrong for its kind", () => {
  const of = (kind: number, raw: string) => gradeValue(kind, raw.charCodeAt(0), raw.length);
  const { text, object, flag, text_or_number } = valueKind;
  expect(['"a"', '""', "null", "1", "{}"].map((raw) => of(text, raw))).toEqual([
    grade.sound,
    grade.empty,
    grade.absent,
    grade.wrong,
    grade.wrong,
  ]);
  expect(["-1", '"a"', "[]"].map((raw) => of(text_or_number, raw))).toEqual([
    grade.sound,
    grade.sound,
    grade.wrong,
  ]);
  expect(["{}", "[]", "null"].map((raw) => of(object, raw))).toEqual([
    grade.sound,
    grade.wrong,
    grade.absent,
  ]);
  expect(["true", "false", "0"].map((raw) => of(flag, raw))).toEqual([grade.sound, grade.empty, grade.wrong]);
});

test("two bits a trait fit one number, and no field lies behind an entry", () => {
  const traits = Object.values(trait).reduce<number>((sum, which) => sum | (grade.wrong << (which * 2)), 0);
  for (const which of Object.values(trait)) expect(gradeIn(traits, which)).toBe(grade.wrong);
  expect(gradeIn(grade.empty << (trait.$survey_id * 2), trait.$survey_id)).toBe(grade.empty);
  expect(Math.max(...Object.values(field)) + 2).toBeLessThanOrEqual(entryLength);
});

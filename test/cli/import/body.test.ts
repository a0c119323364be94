import { expect, test } from "bun:test";
import fc from "fast-check";
import { Bodies, type Body } from "../../../src/cli/import/body.ts";

const uuid = "0188f0a0-0000-7000-8000-000000000001";

function sealAll(rows: string[], bytesMax: number, rowsMax: number): { texts: string[]; bodies: Body[] } {
  const bodies = new Bodies('k"1', { bytesMax, rowsMax });
  const sealed: Body[] = [];
  for (const [line, row] of rows.entries()) {
    const bytes = Buffer.from(row);
    if (bodies.isFullFor(bytes.length)) sealed.push(bodies.seal());
    if (line % 2 === 0) bodies.openBody().addText(row);
    else bodies.openBody().addBytes(bytes, 0, bytes.length, "");
    bodies.openBody().endRow(0, line + 1);
  }
  sealed.push(bodies.seal());
  return { texts: sealed.map((body) => Buffer.from(body.bytes()).toString()), bodies: sealed };
}

test("rows come out in order, in as many bodies as they need, and in the same ones in every run", () => {
  const row = fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text }));
  fc.assert(
    fc.property(
      fc.array(row),
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 9 }),
      (rows, bytes, count) => {
        const { texts, bodies } = sealAll(rows, bytes, count);
        const parsed = texts.map((text) => JSON.parse(text) as { batch: unknown[] });
        expect(parsed.flatMap((body) => body.batch)).toEqual(rows.map((text) => JSON.parse(text) as unknown));
        expect(
          bodies.every((body) => body.rows <= count && (body.rows === 1 || body.length <= bytes + body.rows)),
        ).toBe(true);
        const again = sealAll(rows, bytes, count);
        expect(again.texts).toEqual(texts);
        expect(again.bodies.map((body) => body.chain)).toEqual(bodies.map((body) => body.chain));
      },
    ),
  );
});

test("parts of a body are bodies, and know where their rows came from", () => {
  const rows = ['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}'];
  const [body] = sealAll(rows, 1000, 100).bodies;
  const head = '{"api_key":"k\\"1","historical_migration":true,"batch":[';
  const partOf = (from: number, to: number): string => Buffer.from(body!.bytes(from, to)).toString();
  expect(partOf(0, 4)).toBe(`${head}${rows.join(",")}]}`);
  expect(partOf(0, 1)).toBe(`${head}{"n":0}]}`);
  expect(partOf(1, 3)).toBe(`${head}{"n":1},{"n":2}]}`);
  expect(partOf(3, 4)).toBe(`${head}{"n":3}]}`);
  expect(body!.findOrigin(2)).toEqual({ file: 0, line: 3 });
});

test("further members are put in front of the others", () => {
  const bodies = new Bodies("k", { bytesMax: 1000, rowsMax: 10 });
  const source = Buffer.from('xx{"é":1}yy');
  bodies.openBody().addBytes(source, 2, source.length - 2, `"uuid":"${uuid}",`);
  expect(bodies.openBody().rowBytes().toString()).toBe(`{"uuid":"${uuid}","é":1}`);
});

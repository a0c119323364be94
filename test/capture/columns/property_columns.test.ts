// Properties that have columns, against what the engine reads from the text.

import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { Block } from "../../../src/capture/columns/block.ts";
import { emptyRow, newUuidBytes } from "../../../src/capture/fields/row.ts";
import { insertBatches } from "../../../src/capture/store.ts";
import { propertyColumns } from "../../../src/storage/events/event_columns.ts";
import { propertyText } from "../../../src/storage/events/property_filter.ts";
import { ByteColumn } from "../../../src/storage/native/native.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { readRows } from "../../support/native_rows.ts";
import { openMadeStores, storesStartMsMax } from "../../support/stores.ts";

let stores: Awaited<ReturnType<typeof openMadeStores>>;
beforeAll(async () => {
  stores = await openMadeStores();
}, storesStartMsMax);
afterAll(cleanUp);

const encoder = new TextEncoder();
let projects = 0;

function encode(texts: readonly string[], project_id: number): Uint8Array {
  const block = new Block();
  const row = emptyRow();
  row.project_id = project_id;
  for (const [number, text] of texts.entries()) {
    const source = encoder.encode(text);
    Object.assign(row.properties, { source, from: 0, to: source.length });
    newUuidBytes(1_700_000_000_000, row.uuid, number);
    row.timestamp = row.created_at = 1_700_000_000_000_000 + number;
    block.append(row);
  }
  const out = new ByteColumn();
  block.encode(out, BigInt(project_id), 0);
  return out.filled();
}

/** The columns of each row, and what the engine reads from its text. */
async function storeAll(texts: readonly string[]) {
  const project_id = ++projects;
  await insertBatches(stores.clickhouse, "event_rows", { bytes: [encode(texts, project_id)] });
  const own = propertyColumns.map((name) => `\`${name}\``).join(", ");
  const read = propertyColumns.map((name) => propertyText(`'${name}'`)).join(", ");
  return await stores.clickhouse.query<{ properties: string; own: unknown; read: unknown }>(
    `SELECT properties, [${own}] AS own, [${read}] AS read FROM event_rows
     WHERE project_id = {project_id:UInt32} ORDER BY timestamp`,
    { project_id },
  );
}

/** JSON of values that senders write in different ways. */
const values = [
  '"Chrome"',
  '""',
  "null",
  '"https:\\/\\/shop.example\\/a?b=\\u00fc&c=\\ud83d\\udeb2"',
  '"\\" \\\\ \\b\\f\\n\\r\\t \\u20ac \\u0041"',
  '"Zoë 🚲"',
  '" null "',
  "true",
  "false",
  "0",
  "-0",
  "7",
  "-12",
  "123456789012345678",
  "1234567890123456789",
  "18446744073709551615",
  "18446744073709551616123",
  "1.50",
  "1e3",
  "-1.0",
  "[]",
  '["a", 1]',
  '{"a": "b"}',
  '"1.0"',
];

test("a column holds exactly what the engine reads from the text, whatever the value is", async () => {
  for (const value of values) {
    const texts = [
      `{"$browser":${value}}`,
      `{"a":1, "$pathname" : ${value} , "$browser":"x"}`,
      `{"\\u0024os":${value},"b":{"$os":"inner"}}`,
      "{}",
      '{"$browser":"after","$session_id":"s"}',
    ];
    const rows = await storeAll(texts);
    expect(rows.map(({ properties }) => properties)).toEqual(texts);
    for (const { own, read } of rows) expect(own).toEqual(read);
  }
});

test("a block lacks the column of a value that only the engine reads, and no other", () => {
  const columnsOf = (text: string) =>
    Object.keys(readRows(encode(["{}", text, "{}"], 1))[0]!).filter((name) => propertyColumns.includes(name));
  expect(columnsOf('{"$os":"x","$device_type":3,"$pathname":null,"$browser":true}')).toEqual([
    ...propertyColumns,
  ]);
  const without = propertyColumns.filter((name) => name !== "$os" && name !== "$device_type");
  expect(columnsOf('{"$os":1.5,"$device_type":["x"],"$browser":"web"}')).toEqual(without);
  // Scans let no key pass twice; if one did, the block would still be sound.
  const withoutBrowser = propertyColumns.filter((name) => name !== "$browser");
  expect(columnsOf('{"$browser":"a","$browser":"b"}')).toEqual(withoutBrowser);
});

test("any objects of these properties are read alike from text and columns", async () => {
  const leaf = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const member = fc.tuple(fc.constantFrom(...propertyColumns, "other"), fc.oneof(leaf, fc.array(leaf)));
  const object = fc
    .array(member, { maxLength: 6 })
    .map((members) => JSON.stringify(Object.fromEntries(members)));
  const property = fc.asyncProperty(fc.array(object, { minLength: 1, maxLength: 30 }), async (texts) => {
    for (const { own, read } of await storeAll(texts)) expect(own).toEqual(read);
  });
  await fc.assert(property, { numRuns: 40 });
});

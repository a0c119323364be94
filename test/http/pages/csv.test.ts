import { expect, test } from "bun:test";
import Type from "typebox";
import { model } from "../../../src/http/fields/field.ts";
import { csvReply, wantsCsv } from "../../../src/http/pages/csv.ts";

const thing = model("Thing", {
  id: Type.Integer(),
  name: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
  ids: Type.Array(Type.String()),
});

const row = (id: number, properties: string, name = "n") =>
  `,{"id":${id},"name":${JSON.stringify(name)},"properties":${properties},"ids":["a","b"]}`;

async function* piecesOf(pieces: readonly string[]) {
  for (const piece of pieces) yield Buffer.from(piece);
}

/** The cells of each record, as RFC 4180 has them. */
function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    rows.at(-1)!.push(quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
  }
  return rows.slice(0, -1);
}

/** The reply, and the pages that were read for it. */
async function csvOf(pieces: readonly string[], count = pieces.length, query = "") {
  const read: unknown[] = [];
  const url = new URL(`https://sluice.example/api/things/?${query}`);
  const asked = {
    limit: Number(url.searchParams.get("limit") ?? 100),
    offset: Number(url.searchParams.get("offset") ?? 0),
  };
  const reply = await csvReply({
    url,
    name: "things",
    model: thing,
    page: asked,
    read: (page) => {
      read.push(page);
      return Promise.resolve({ count, rows: piecesOf(pieces) });
    },
  });
  return { reply, text: await reply.text(), read };
}

test("members and properties are columns, those of a later row too", async () => {
  const { text, reply } = await csvOf([
    row(1, '{"b":1,"a":"x"}') + row(2, "{}"),
    row(3, '{"c":{"d":[1, 2]}, "b" : null}'),
  ]);
  expect(text.split("\r\n")).toEqual([
    "id,name,ids,properties.a,properties.b,properties.c",
    '1,n,"[""a"",""b""]",x,1,',
    '2,n,"[""a"",""b""]",,,',
    '3,n,"[""a"",""b""]",,,"{""d"":[1, 2]}"',
    "",
  ]);
  expect(reply.headers.get("content-type")).toBe("text/csv; charset=utf-8");
  expect(reply.headers.get("content-disposition")).toBe('attachment; filename="things.csv"');
  expect(reply.headers.get("x-total-count")).toBe("2");
});

test("a list without rows is a header", async () => {
  expect((await csvOf([])).text).toBe("id,name,ids\r\n");
});

test("numbers keep their digits, texts their lines, quotes and blanks", async () => {
  const values = ['a"b', "a,b", "a\r\nb", " a ", "é 😀", "", "\u2028", "12,5"];
  const members = values.map((value, i) => `"k${i}":${JSON.stringify(value)}`).join(",");
  const { text } = await csvOf([
    row(1, `{${members},"n":12345678901234567890.10,"t":true,"e":"\\u00e9\\/"}`),
  ]);
  const [names = [], cells = []] = rowsOf(text);
  const found = Object.fromEntries(names.map((name, i) => [name, cells[i]]));
  for (const [i, value] of values.entries()) expect(found[`properties.k${i}`]).toBe(value);
  expect(found).toMatchObject({ "properties.n": "12345678901234567890.10", "properties.t": "true" });
  expect(found["properties.e"]).toBe("é/");
});

test("a text that begins like a formula is a text, a negative number a number", async () => {
  const formulas = ["=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "＝1"];
  for (const formula of formulas) {
    const { text } = await csvOf([row(1, `{"a":${JSON.stringify(formula)}}`, formula)]);
    const [, cells = []] = rowsOf(text);
    expect([cells[1], cells[3]]).toEqual([`'${formula}`, `'${formula}`]);
  }
  const { text } = await csvOf([row(1, '{"a":-5,"b":"a=1"}')]);
  expect(text).toContain(",-5,a=1\r\n");
  expect((await csvOf([row(1, '{"=HYPERLINK(1)":1}')])).text).toStartWith(
    "id,name,ids,properties.=HYPERLINK(1)\r\n",
  );
});

test("a table has ten thousand rows by default, and names the neighbouring pages", async () => {
  const whole = await csvOf([row(1, "{}")], 25_000);
  expect(whole.read).toEqual([
    { limit: 10_000, offset: 0 },
    { limit: 10_000, offset: 0 },
  ]);
  expect(whole.reply.headers.get("link")).toBe(
    '<https://sluice.example/api/things/?limit=10000&offset=10000>; rel="next"',
  );
  const middle = await csvOf([row(1, "{}")], 3, "limit=1&offset=1&format=csv");
  expect(middle.reply.headers.get("link")).toBe(
    '<https://sluice.example/api/things/?format=csv&limit=1&offset=2>; rel="next", ' +
      '<https://sluice.example/api/things/?format=csv&limit=1>; rel="prev"',
  );
  expect((await csvOf([row(1, "{}")], 1)).reply.headers.has("link")).toBe(false);
});

test("too many columns are refused before the reply begins", async () => {
  const many = (from: number) => `{${Array.from({ length: 1500 }, (_, i) => `"k${from + i}":1`).join(",")}}`;
  expect((await csvOf([row(1, many(0)), row(2, many(0))])).text).toContain("properties.k1499");
  await expect(csvOf([row(1, many(0)), row(2, many(1500))])).rejects.toMatchObject({
    code: "invalid_input",
    attr: "format",
  });
});

test("a row that gained a property after the reply has begun cuts it off", async () => {
  let reads = 0;
  const long = row(1, `{"old":"${"x".repeat(100_000)}"}`);
  const reply = await csvReply({
    url: new URL("https://sluice.example/"),
    name: "things",
    model: thing,
    page: { limit: 9, offset: 0 },
    read: () => {
      const last = row(2, reads++ === 0 ? "{}" : '{"new":1}');
      return Promise.resolve({ count: 9, rows: piecesOf([...Array.from({ length: 8 }, () => long), last]) });
    },
  });
  expect(await reply.text().catch(() => "cut off")).toBe("cut off");
});

test("CSV is wanted by format, or else by Accept", () => {
  const wants = (accept: string, format?: "json" | "csv") =>
    wantsCsv(new Request("http://localhost/", { headers: { accept } }), format);
  expect([wants("*/*", "csv"), wants("text/csv"), wants("text/csv, */*;q=0.1")]).toEqual([true, true, true]);
  expect([wants("text/csv", "json"), wants("*/*"), wants("application/json, text/csv")]).toEqual([
    false,
    false,
    false,
  ]);
  // What has no weight must not be sent.
  expect([wants("text/csv;q=0"), wants("text/csv; q=0.000, */*"), wants("text/csv;q=0.5")]).toEqual([
    false,
    false,
    true,
  ]);
  expect(wants("text/csv, application/json;q=0")).toBe(true);
});

test("rows that change between the two reads are read again, and after three tries that is busy", async () => {
  const write = async (changes: number) => {
    let reads = 0;
    const reply = await csvReply({
      url: new URL("https://sluice.example/api/things/"),
      name: "things",
      model: thing,
      page: { limit: 100, offset: 0 },
      read: () => {
        const name = `p${Math.min(reads++, changes)}`;
        return Promise.resolve({ count: 1, rows: piecesOf([row(1, `{"${name}":1}`)]) });
      },
    });
    return reply.text();
  };
  expect(await write(1)).toContain("properties.p1");
  expect(await write(3)).toContain("properties.p3");
  const refusal: unknown = await write(100).catch((thrown: unknown) => thrown);
  expect(refusal).toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
});

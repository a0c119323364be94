import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { detectFileKind, type Format } from "../../../../src/cli/import/formats/detect.ts";
import { eventLines, fixtures } from "../setup.ts";

function kindOf(text: string | Uint8Array, format: Format = "auto"): string {
  const { layout, dialect } = detectFileKind(Buffer.from(text as string), true, format, "FILE");
  return `${dialect} ${layout}`;
}

describe("auto", () => {
  test.each(["posthog", "mixpanel", "amplitude", "segment"])(
    "knows an export of %s, as lines or as an array",
    async (name) => {
      const text = await Bun.file(join(fixtures, `import/${name}.jsonl`)).text();
      expect(kindOf(text)).toBe(`${name} jsonl`);
      expect(kindOf(`[${text.trim().replaceAll("\n", ",")}]`)).toBe(`${name} json`);
    },
  );

  test("knows batch items, however they lie", () => {
    const line = eventLines(1).trim();
    expect(kindOf(eventLines(3))).toBe("batch jsonl");
    expect(kindOf(line)).toBe("batch jsonl");
    expect(kindOf(`\n\n  ${line}\n`)).toBe("batch jsonl");
    const pretty = JSON.stringify(JSON.parse(line), null, 2);
    expect(kindOf(pretty)).toBe("batch documents");
    expect(kindOf(`${pretty}\n${pretty}\n`)).toBe("batch documents");
    expect(kindOf(`[${line}]`)).toBe("batch json");
    expect(kindOf(`{"api_key":"k","batch":[${line}]}`)).toBe("batch json");
    expect(kindOf(`{"results":[${line}]}\n`)).toBe("batch json");
    expect(kindOf(JSON.stringify({ results: [JSON.parse(line)] }, null, 2))).toBe("batch json");
  });

  test("takes a row with a list of its own for a row", () => {
    expect(kindOf('{"event":"a","results":[1],"timestamp":"2020-01-01T00:00:00Z"}\n')).toBe("batch jsonl");
  });

  test("takes a broken first line for a line", () => {
    expect(kindOf(`{"event":\n${eventLines(2)}`)).toBe("batch jsonl");
  });

  test("knows CSV by its header, with any separator", () => {
    for (const separator of [",", ";", "\t"]) {
      const header = ["Timestamp", "event", '"distinct_id"', "plan"].join(separator);
      const kind = detectFileKind(Buffer.from(`${header}\r\n1,2,3,4`), true, "auto", "FILE");
      expect(kind.layout).toBe("csv");
      expect(kind.table?.indexes).toEqual({
        event: 1,
        distinct_id: 2,
        timestamp: 0,
        uuid: -1,
        properties: -1,
      });
    }
  });

  test("finds nothing in an empty file", () => {
    expect(kindOf("")).toBe("batch jsonl");
    expect(kindOf(" \n")).toBe("batch jsonl");
  });
});

describe("a format that is given", () => {
  test("decides", () => {
    expect(kindOf('{"event_type":"a","event_time":"2020-01-01"}', "jsonl")).toBe("batch jsonl");
    expect(kindOf("[]", "jsonl")).toBe("batch jsonl");
    expect(kindOf("{}", "json")).toBe("batch json");
    expect(kindOf('[{"a":1}]', "mixpanel")).toBe("mixpanel json");
    expect(kindOf('{"a":1}\n{"a":2}', "segment")).toBe("segment jsonl");
  });
});

describe("a file that cannot be imported", () => {
  test.each([
    ["PK\x03\x04....", "FILE: a zip archive; unpack it and import the files in it"],
    ["PAR1....", "FILE: a Parquet file; export JSON Lines instead"],
    ["BZh91AY", "FILE: packed with bzip2"],
    ["a,b\n1,2", "FILE: neither JSON nor CSV with a header"],
    ["event,distinct_id,timestamp,plan,plan\n", 'the CSV header names "plan" twice'],
  ])("%p is distinguished", (text, message) => {
    expect(() => kindOf(text)).toThrow(message);
  });

  test("names the columns that are missing", () => {
    const message =
      "FILE: the CSV header needs the columns event, distinct_id and timestamp; it has event, user";
    expect(() => kindOf("event,user\na,b\n", "csv")).toThrow(message);
  });

  test("is distinguished when it is UTF-16", () => {
    expect(() => kindOf(Buffer.from("\ufeff{}", "utf16le"))).toThrow("FILE: UTF-16 text; save it as UTF-8");
  });
});

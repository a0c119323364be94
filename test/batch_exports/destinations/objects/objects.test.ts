// Files of an object store: one or several of about a size, a list written last, and what happens where writing fails.

import { expect, test } from "bun:test";
import {
  deliverObjects,
  type FileRows,
  type ObjectStore,
  probeObjects,
} from "../../../../src/batch_exports/destinations/objects/objects.ts";
import { ExportError } from "../../../../src/batch_exports/failure.ts";
import { eventColumns } from "../../../../src/batch_exports/source/columns.ts";
import type { ExportWork } from "../../../../src/batch_exports/source/statements.ts";

type Choice = Parameters<typeof deliverObjects>[2];
const choice = {
  prefix: "lake",
  file_format: "JSONLines",
  compression: null,
  max_file_size_mb: null,
  escape_formulas: false,
} as unknown as Choice;

const hour = 3_600_000;
const start = Date.UTC(2026, 2, 1, 5);

/** @param rows of answers, by a word of their statement. */
function openWork(rows: Record<string, object[]> = {}) {
  const asked: string[] = [];
  const query = (text: string) => {
    const word = ["sample_rows", "bytes", "GROUP BY file"].find((one) => text.includes(one)) ?? "";
    asked.push(word);
    return Promise.resolve(rows[word] ?? []);
  };
  const work = {
    clickhouse: { query },
    abort: new AbortController().signal,
    record: async () => {},
    mark: "export",
    days: ["2026-03-01"],
    rows: 42,
    source: {
      project_id: 1,
      model: "events",
      interval: { start, end: start + hour },
      events: { include_events: [], exclude_events: [] },
      conditions: [],
      columns: eventColumns,
      own: undefined,
    },
  } as unknown as ExportWork;
  return { work, asked };
}

function openStore(more: Partial<ObjectStore> = {}) {
  const calls: unknown[][] = [];
  const files: FileRows[] = [];
  const store: ObjectStore = {
    writeFile: async (_, key, rows) => {
      files.push(rows);
      calls.push(["file", key]);
    },
    writeParts: async (_, keyOf, rows, { files: count, used }) => {
      files.push(rows);
      calls.push(["parts", count, ...used.map(({ file }) => keyOf(file))]);
    },
    writeText: async (_, key, content) => void calls.push(["text", key, content]),
    remove: async (_, key) => void calls.push(["remove", key]),
    open: async (folder) => void calls.push(["open", folder]),
    close: async (keys) => void calls.push(["close", ...keys]),
    end: () => calls.push(["end"]),
    ...more,
  };
  return { store, calls, files };
}

const name = "lake/2026-03-01T05:00:00+00:00-2026-03-01T06:00:00+00:00";

test("without a size there is one file, of all rows, which has its name at the end", async () => {
  const { work, asked } = openWork();
  const { store, calls } = openStore();
  expect(await deliverObjects(work, store, choice)).toBe(42);
  expect(calls).toEqual([["open", "lake/"], ["file", `${name}.jsonl`], ["close", `${name}.jsonl`], ["end"]]);
  expect(asked).toEqual([]);
});

test("files are as many as the size needs with a margin, and those without rows are none", async () => {
  const megabyte = 1024 * 1024;
  const sizes: [bytes: number, rows: number, files: number][] = [
    [10 * megabyte, 1000, 11],
    [0.9 * megabyte, 1000, 1],
    [0.96 * megabyte, 1000, 2],
    [100 * megabyte, 3, 3],
    [0, 0, 1],
  ];
  for (const [bytes, rows, files] of sizes) {
    const used = [{ file: "0", rows: "1" }];
    const { work } = openWork({
      bytes: [{ rows: String(rows), bytes: String(bytes) }],
      "GROUP BY file": used,
    });
    const { store, calls } = openStore();
    await deliverObjects(work, store, { ...choice, max_file_size_mb: 1 } as Choice);
    expect([bytes, calls[1]]).toEqual([bytes, ["parts", files, `${name}-0.jsonl`]]);
  }
});

test("the list of the files is written after them, and named with them", async () => {
  const used = ["0", "2"].map((file) => ({ file, rows: "1" }));
  const { work } = openWork({ bytes: [{ rows: "9", bytes: "9000000" }], "GROUP BY file": used });
  const { store, calls } = openStore();
  await deliverObjects(work, store, { ...choice, max_file_size_mb: 3 } as Choice);
  const [, parts, text, close] = calls;
  expect(parts).toEqual(["parts", 4, `${name}-0.jsonl`, `${name}-2.jsonl`]);
  expect(text!.slice(0, 2)).toEqual(["text", `${name}_manifest.json`]);
  expect(JSON.parse(String(text![2]))).toEqual({ files: [`${name}-0.jsonl`, `${name}-2.jsonl`] });
  expect(close).toEqual(["close", `${name}-0.jsonl`, `${name}-2.jsonl`, `${name}_manifest.json`]);
});

test("rows that shrink need fewer files: by as much as a sample of them does", async () => {
  const row = "a".repeat(1000);
  const { work } = openWork({
    bytes: [{ rows: "1000", bytes: String(100 * 1024 * 1024) }],
    sample_rows: Array.from({ length: 50 }, () => ({ row })),
    "GROUP BY file": [{ file: "0", rows: "1" }],
  });
  const { store, calls, files } = openStore();
  await deliverObjects(work, store, { ...choice, compression: "gzip", max_file_size_mb: 1 } as Choice);
  expect(calls[1]!.slice(0, 2)).toEqual(["parts", 1]);
  expect(files[0]!.compression).toBe("gzip");
});

test("Parquet is compressed within, and other formats as a whole", async () => {
  const written = async (more: object) => {
    const { store, files, calls } = openStore();
    await deliverObjects(openWork().work, store, { ...choice, ...more } as Choice);
    return [
      files[0]!.format,
      files[0]!.compression,
      files[0]!.settings["output_format_parquet_compression_method"],
      calls[1]![1],
    ];
  };
  expect(await written({ file_format: "Parquet", compression: "zstd" })).toEqual([
    "Parquet",
    "none",
    "zstd",
    `${name}.parquet`,
  ]);
  const lines = await written({ compression: "brotli" });
  expect(lines.slice(1)).toEqual(["br", undefined, `${name}.jsonl.br`]);
});

test("what fails ends the store, and nothing gets its name; the reason is the store's own where it knows one", async () => {
  const failing = { writeFile: () => Promise.reject(new Error("socket closed")) };
  const plain = openStore(failing);
  const plainly = deliverObjects(openWork().work, plain.store, choice);
  expect(plainly).rejects.toBeInstanceOf(ExportError);
  await plainly.catch(() => undefined);
  expect(plain.calls).toEqual([["open", "lake/"], ["end"]]);
  const known = openStore({
    ...failing,
    explain: () => Promise.resolve(new ExportError("The bucket is gone.", true)),
  });
  expect(deliverObjects(openWork().work, known.store, choice)).rejects.toThrow("The bucket is gone.");
});

test("a trial writes one small file below the prefix, and fails as a delivery does", async () => {
  const { store, calls } = openStore();
  await probeObjects(openWork().work, store, { prefix: "lake/{year}/" });
  expect(calls).toEqual([["text", "lake/sluice-check/connection.txt", "This file may be removed."]]);
  const refusing = openStore({ writeText: () => Promise.reject(new Error("no")) });
  expect(probeObjects(openWork().work, refusing.store, choice)).rejects.toBeInstanceOf(ExportError);
});

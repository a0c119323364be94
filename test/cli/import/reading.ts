// What the tests of the readers share. Never reads a file.

import type { FileRecord, RecordReader } from "../../../src/cli/import/reading/file_record.ts";

export type Found = { line: number; text: string } | { line: number; flaw: string };

/** The bytes in pieces, cut at these places. */
export function chopped(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => (bytes.length === 0 ? 0 : cut % bytes.length)))].sort(
    (a, b) => a - b,
  );
  const edges = [0, ...places, bytes.length];
  return edges.slice(1).map((edge, at) => Buffer.from(bytes.subarray(edges[at], edge)));
}

export function readAll(reader: RecordReader, pieces: Buffer[]): Found[] {
  const found: Found[] = [];
  const note = (record: FileRecord): void => {
    const { line, problem: flaw, source, from, to } = record;
    found.push(flaw === undefined ? { line, text: source.toString("utf8", from, to) } : { line, flaw });
  };
  for (const piece of pieces) for (const record of reader.read(piece)) note(record);
  for (const record of reader.end()) note(record);
  return found;
}

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { measureFile, openSource, standardInput } from "../../../../src/cli/import/reading/source.ts";
import { eventLines, ImportSetup } from "../setup.ts";

let setup: ImportSetup;
beforeAll(async () => void (setup = await ImportSetup.open()));
afterAll(async () => await setup.close());

const never = new AbortController().signal;
const noInput = (): ReadableStream<Uint8Array> => new ReadableStream();

interface Read {
  text: string;
  head: number;
  rawBytes: number;
}

async function read(path: string, input = noInput, stop = never): Promise<Read> {
  let rawBytes = 0;
  const source = await openSource(path, { onBytes: (count) => void (rawBytes += count), input, stop });
  const pieces = [source.head];
  for await (const bytes of source.rest) pieces.push(bytes);
  return { text: Buffer.concat(pieces).toString(), head: source.head.length, rawBytes };
}

const text = eventLines(20_000);

describe("a file", () => {
  test("is read whole, and its bytes are counted", async () => {
    const got = await read(await setup.write("plain.jsonl", text));
    expect(got.text).toBe(text);
    expect(got.rawBytes).toBe(text.length);
  });

  test("is inflated by what it holds, whatever its name, in as many parts as it has", async () => {
    const [first, second] = [text.slice(0, 500_000), text.slice(500_000)];
    const packed = {
      "a.gz": gzipSync(text),
      "b.jsonl": Buffer.concat([gzipSync(first), gzipSync(second)]),
      "c.zst": zstdCompressSync(text),
      "d.jsonl": Buffer.concat([zstdCompressSync(first), zstdCompressSync(second)]),
      "e.gz": Buffer.from(text),
    };
    for (const [name, bytes] of Object.entries(packed)) {
      const got = await read(await setup.write(name, bytes));
      expect(got.text === text).toBe(true);
      expect(got.rawBytes).toBe(bytes.length);
    }
  });

  test("that ends too early is distinguished from a whole one", async () => {
    for (const bytes of [gzipSync(text), zstdCompressSync(text)]) {
      const path = await setup.write("cut", bytes.subarray(0, bytes.length - 20));
      await expect(read(path)).rejects.toThrow(`${path}: the compressed data ends too early`);
    }
  });

  test("that is damaged is distinguished from a whole one", async () => {
    const bytes = Buffer.concat([gzipSync(text), Buffer.from("garbage behind it")]);
    const path = await setup.write("damaged", bytes);
    await expect(read(path)).rejects.toThrow(`${path}: the compressed data is damaged`);
  });

  test("loses its byte order mark, and may be empty", async () => {
    expect((await read(await setup.write("bom", "\ufeffabc"))).text).toBe("abc");
    expect((await read(await setup.write("empty", ""))).text).toBe("");
    expect((await read(await setup.write("empty.gz", gzipSync("")))).text).toBe("");
  });

  test("that is missing or a folder is refused in a sentence", async () => {
    await expect(measureFile(setup.path("none"))).rejects.toThrow(`${setup.path("none")}: no such file`);
    await expect(measureFile(setup.folder)).rejects.toThrow(
      `${setup.folder}: a directory; name the files in it`,
    );
  });
});

describe("standard input", () => {
  const streamOf = (...pieces: Buffer[]): (() => ReadableStream<Uint8Array>) => {
    return () =>
      new ReadableStream({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          controller.close();
        },
      });
  };

  test("is read like a file, also when it is packed and comes byte by byte", async () => {
    expect((await read(standardInput, streamOf(Buffer.from("ab"), Buffer.from("c")))).text).toBe("abc");
    const packed = gzipSync("abc");
    const bytes = Array.from({ length: packed.length }, (_, at) => packed.subarray(at, at + 1));
    expect((await read(standardInput, streamOf(...bytes))).text).toBe("abc");
  });

  test("is not waited for once the import is stopped", async () => {
    const stop = new AbortController();
    const stuck = (): ReadableStream<Uint8Array> =>
      new ReadableStream({
        start: (controller) => controller.enqueue(Buffer.from("abcdef")),
        pull: () => stop.abort(),
      });
    expect((await read(standardInput, stuck, stop.signal)).text).toBe("abcdef");
  });
});

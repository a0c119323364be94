// The servers Sluice is compared with, as processes of their own: `bun bench/bare.ts json|bytes|synced|naive`.
//   json   Bun.serve that parses the body and counts its events
//   bytes  Bun.serve that receives the body and counts its bytes
//   synced Bun.serve that receives the body, writes it to a file and answers when that is synced
//   naive  what one writes first: Elysia, request.json(), rows as objects, @clickhouse/client with JSONEachRow
// The naive one finds its store in CLICKHOUSE_URL. It prints {"port":n} when it listens.

import { unlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@clickhouse/client";
import { Elysia } from "elysia";

interface Received {
  uuid: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  properties: unknown;
}

type Payload = { batch: Received[] } | Received;

const bodyBytesMax = 64 * 1024 * 1024;

/** Bodies from this size on are written to a file of their own, as an import's are, so that short ones do not wait. */
const longBodyBytes = 16_384;
/** Where a file begins anew, in bytes. */
const fileBytesMax = 1_000_000_000;

const serving: Record<string, () => number | Promise<number>> = {
  naive: () => serveNaively(process.env["CLICKHOUSE_URL"]!),
  synced: serveSynced,
  json: () =>
    serveBare(async (request) => {
      const payload = (await request.json()) as Payload;
      return "batch" in payload ? payload.batch.length : 1;
    }),
  bytes: () => serveBare(async (request) => (await request.bytes()).length),
};
async function serveSynced(): Promise<number> {
  const [short, long] = [new SyncedFile(await openUnnamed()), new SyncedFile(await openUnnamed())];
  return serveBare(async (request) => {
    const bytes = await request.bytes();
    await (bytes.length < longBodyBytes ? short : long).append(bytes);
    return bytes.length;
  });
}

/** A file that ends with this process. */
async function openUnnamed(): Promise<FileHandle> {
  const path = join(tmpdir(), `sluice-bench-bare-${crypto.randomUUID()}`);
  const file = await open(path, "wx");
  unlinkSync(path);
  return file;
}

/** Bodies that come while others are synced are synced together. */
class SyncedFile {
  readonly #file: FileHandle;
  #group: Uint8Array[] = [];
  #next: Promise<void> | undefined;
  #last = Promise.resolve();
  #place = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Resolves when the bytes are on the disk. */
  append(bytes: Uint8Array): Promise<void> {
    this.#group.push(bytes);
    this.#next ??= this.#last = this.#last.then(() => this.#write());
    return this.#next;
  }

  async #write(): Promise<void> {
    const group = this.#group;
    [this.#group, this.#next] = [[], undefined];
    for (const bytes of group) {
      if (this.#place + bytes.length > fileBytesMax) this.#place = 0;
      await this.#file.write(bytes, 0, bytes.length, this.#place);
      this.#place += bytes.length;
    }
    await this.#file.datasync();
  }
}

function serveBare(answer: (request: Request) => Promise<number>): number {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: bodyBytesMax,
    // A paced load leaves some connections idle for longer than the runtime's ten seconds.
    idleTimeout: 0,
    fetch: async (request) => new Response(String(await answer(request))),
  });
  return server.port!;
}

function serveNaively(url: string): number {
  const { host, username, password, pathname } = new URL(url);
  const client = createClient({ url: `http://${host}`, username, password, database: pathname.slice(1) });
  const store = async (request: Request) => {
    const payload = (await request.json()) as Payload;
    const created_at = Date.now() * 1000;
    const values = ("batch" in payload ? payload.batch : [payload]).map((one, row) => ({
      uuid: one.uuid,
      project_id: 1,
      event: one.event,
      distinct_id: one.distinct_id,
      properties: JSON.stringify(one.properties),
      timestamp: one.timestamp,
      created_at,
      historical_migration: true,
      _batch: created_at,
      _row: row,
    }));
    await client.insert({
      table: "event_rows",
      values,
      format: "JSONEachRow",
      clickhouse_settings: { date_time_input_format: "best_effort", async_insert: 0 },
    });
    return new Response(String(values.length));
  };
  const serve = { maxRequestBodySize: bodyBytesMax };
  const app = new Elysia({ serve }).post("*", ({ request }) => store(request), { parse: "none" });
  app.listen({ hostname: "127.0.0.1", port: 0 });
  return app.server!.port!;
}

const port = await serving[process.argv[2]!]!();
process.stdout.write(`${JSON.stringify({ port })}\n`);

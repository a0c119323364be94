// The servers Sluice is compared with, as processes of their own: `bun bench/bare.ts json|bytes|naive`.
//   json   Bun.serve that parses the body and counts its events
//   bytes  Bun.serve that receives the body and counts its bytes
//   naive  what one writes first: Elysia, request.json(), rows as objects, @clickhouse/client with JSONEachRow
// The naive one finds its store in CLICKHOUSE_URL. It prints {"port":n} when it listens.

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

const kind = process.argv[2];
const port = kind === "naive" ? serveNaively(process.env["CLICKHOUSE_URL"]!) : serveBarely(kind === "json");
process.stdout.write(`${JSON.stringify({ port })}\n`);

function serveBarely(parse: boolean): number {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: bodyBytesMax,
    // A paced load leaves some connections idle for longer than the runtime's ten seconds.
    idleTimeout: 0,
    fetch: async (request) => {
      if (!parse) return new Response(String((await request.bytes()).length));
      const payload = (await request.json()) as Payload;
      return new Response(String("batch" in payload ? payload.batch.length : 1));
    },
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

// A small capture server for the tests of `import`: keeps what it took and can be told to ail. Never stores
// anything.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  api_key: string;
  historical_migration: boolean;
  batch: Record<string, unknown>[];
  /** The body as it came. */
  text: string;
}

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** An answer instead of the usual one, or a closed connection; undefined: the usual one. */
export type Trouble = (received: Received, attempt: number) => Reply | "drop" | undefined;

export class CaptureServer {
  /** Every body that was answered with 200. */
  readonly taken: Received[] = [];
  /** Bodies that came, whatever the answer. */
  attempts = 0;
  trouble: Trouble = () => undefined;
  /** What it says of how far it has stored; undefined: nothing, as other servers do. */
  storedUntil: () => Date | undefined = () => new Date(8.64e15);
  /** Awaited before each answer. */
  hold: (received: Received) => Promise<void> = async () => {};
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<CaptureServer> {
    const server = createServer();
    const capture = new CaptureServer(server);
    server.on("request", (request, response) => void capture.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    return capture;
  }

  get host(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** All rows taken, in the order they came. */
  get rows(): Record<string, unknown>[] {
    return this.taken.flatMap((received) => received.batch);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    if (request.url === "/_stored") {
      const until = this.storedUntil();
      if (until === undefined) return reply(response, { status: 404 });
      return reply(response, {
        status: 200,
        body: JSON.stringify({ stored_until: until.toISOString(), now: new Date().toISOString() }),
      });
    }
    if (request.url !== "/batch/?verbose=1") return reply(response, { status: 404 });
    const received = { ...(JSON.parse(text) as Omit<Received, "text">), text };
    this.attempts++;
    const attempt = this.attempts;
    await this.hold(received);
    const trouble = this.trouble(received, attempt);
    if (trouble === "drop") return void request.socket.destroy();
    if (trouble !== undefined) return reply(response, trouble);
    this.taken.push(received);
    const ignored = received.batch.flatMap((row, index) => {
      const reason = reasonToIgnore(row);
      return reason === undefined ? [] : [{ index, reason }];
    });
    const accepted = received.batch.length - ignored.length;
    const ignored_by_reason = Object.fromEntries(
      Map.groupBy(ignored, ({ reason }) => reason)
        .entries()
        .map(([reason, rows]) => [reason, rows.length]),
    );
    const body = JSON.stringify({ status: "Ok", accepted, ignored, ignored_by_reason });
    return reply(response, { status: 200, body });
  }
}

function reply(response: ServerResponse, { status, headers = {}, body = "" }: Reply): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}

function reasonToIgnore(row: Record<string, unknown>): string | undefined {
  if (typeof row["event"] !== "string" || row["event"] === "") return "missing_event_name";
  const inside = row["properties"] as Record<string, unknown> | undefined;
  return (row["distinct_id"] ?? inside?.["distinct_id"]) ? undefined : "missing_distinct_id";
}

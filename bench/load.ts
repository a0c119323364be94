// Sends requests over raw sockets and counts answers. A process of its own, so that making requests does not disturb
// the measuring process: one line of JSON on standard input has its work, one line on standard output its report.

import { readFileSync } from "node:fs";
import { quantile } from "./answer.ts";

/** Bodies in one file, back to back: a million small ones are not a million files. */
export interface Pack {
  path: string;
  /** Where each body ends, in bytes. */
  ends: number[];
}

export interface LoadOrder {
  url: string;
  path: string;
  /** Sent in turn, over and over. */
  bodies: Pack;
  headers?: Record<string, string>;
  /** How many requests in all. */
  requests: number;
  connections: number;
  /** Requests begin at this rate, whether earlier ones are answered or not; by default as fast as answers come. */
  perSecond?: number;
  /** Whether to leave the first answer that is not a 200 out of the report. */
  quiet?: boolean;
  /** Whether a request that was answered 503 is sent again, as SDKs do; it counts as answered once it is not. */
  again?: boolean;
}

export interface LoadReport {
  requests: number;
  /** Answers other than 200. */
  failed: number;
  /** How many requests were sent again. */
  again: number;
  /** Bytes of bodies. */
  bytes: number;
  /** When the first request began, in ms since 1970. */
  started_ms: number;
  /** From then until the last answer. */
  seconds: number;
  /** From the moment a request was due to the end of its answer. */
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
  /** CPU-seconds of the sender itself. */
  cpu_s: number;
}

/** Runs such work in a process of its own. */
export async function load(order: LoadOrder): Promise<LoadReport> {
  return await startLoad(order).report;
}

export function startLoad(order: LoadOrder): { report: Promise<LoadReport> } {
  const child = Bun.spawn([process.execPath, import.meta.path], {
    stdin: new TextEncoder().encode(JSON.stringify(order)),
    stdout: "pipe",
    stderr: "inherit",
  });
  const report = async () => {
    const text = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error("the load generator failed");
    return JSON.parse(text) as LoadReport;
  };
  return { report: report() };
}

interface Connection {
  socket: Bun.Socket<undefined>;
  request: Uint8Array;
  /** Bytes of the request that the socket has taken. */
  written: number;
  reply: string;
  due: number;
  busy: boolean;
}

/** The pause before a refused request is sent again, in ms: the server's Retry-After. */
const againMs = 2000;

class Sender {
  readonly #order: LoadOrder;
  readonly #requests: Uint8Array[];
  readonly #connections: Connection[] = [];
  readonly #took: Float64Array;
  #answered = 0;
  #begun = 0;
  #failed = 0;
  #again = 0;
  #started = 0;
  readonly #done = Promise.withResolvers<void>();

  constructor(order: LoadOrder) {
    this.#order = order;
    const bytes = readFileSync(order.bodies.path);
    this.#requests = order.bodies.ends.map((end, i) => {
      return requestOf(order, bytes.subarray(order.bodies.ends[i - 1] ?? 0, end));
    });
    this.#took = new Float64Array(order.requests);
  }

  async run(): Promise<LoadReport> {
    const { connections, requests, bodies } = this.#order;
    await Promise.all(Array.from({ length: connections }, () => this.#connect()));
    const cpu = process.cpuUsage();
    this.#started = performance.now();
    this.#feed();
    await this.#done.promise;
    const seconds = (performance.now() - this.#started) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const took = this.#took.toSorted();
    const at = (share: number) => quantile(took, share);
    const sizes = bodies.ends.map((end, i) => end - (bodies.ends[i - 1] ?? 0));
    const bytes = Array.from({ length: requests }, (_, i) => sizes[i % sizes.length]!);
    return {
      requests,
      failed: this.#failed,
      again: this.#again,
      bytes: bytes.reduce((sum, size) => sum + size, 0),
      started_ms: performance.timeOrigin + this.#started,
      seconds,
      p50_ms: at(0.5),
      p99_ms: at(0.99),
      max_ms: at(1),
      cpu_s: (user + system) / 1e6,
    };
  }

  async #connect(): Promise<void> {
    const { hostname, port } = new URL(this.#order.url);
    const lost = (): void => this.#done.reject(new Error("the server closed a connection"));
    const latin = new TextDecoder("latin1");
    let connection: Connection | undefined;
    // A server closes connections that sent nothing for some seconds; an order of few requests has such.
    const closed = (): void => {
      if (!connection || connection.busy) return lost();
      this.#connections.splice(this.#connections.indexOf(connection), 1);
      this.#connect().catch(lost);
    };
    const socket = await Bun.connect<undefined>({
      hostname,
      port: Number(port),
      socket: {
        data: (_socket, chunk) => connection && this.#receive(connection, latin.decode(chunk)),
        drain: () => connection && this.#write(connection),
        close: closed,
        error: lost,
      },
    });
    connection = { socket, request: new Uint8Array(0), written: 0, reply: "", due: 0, busy: false };
    this.#connections.push(connection);
  }

  /** Sends what is due on free connections, and is called again when more is due. */
  #feed(): void {
    const { requests, perSecond } = this.#order;
    const now = performance.now();
    for (const connection of this.#connections) {
      if (connection.busy || this.#begun === requests) continue;
      const due = perSecond === undefined ? now : this.#started + (this.#begun * 1000) / perSecond;
      if (due > now) break;
      connection.due = due;
      this.#begin(connection);
    }
    if (perSecond !== undefined && this.#begun < requests) {
      const next = this.#started + (this.#begun * 1000) / perSecond;
      const wait = next - performance.now();
      // All connections are busy: the next answer continues.
      if (wait > 0) setTimeout(() => this.#feed(), wait);
    }
  }

  #begin(connection: Connection): void {
    connection.request = this.#requests[this.#begun % this.#requests.length]!;
    connection.written = 0;
    connection.reply = "";
    connection.busy = true;
    this.#begun++;
    this.#write(connection);
  }

  #beginAgain(connection: Connection): void {
    this.#again++;
    connection.written = 0;
    connection.reply = "";
    this.#write(connection);
  }

  #write(connection: Connection): void {
    const { request, socket } = connection;
    while (connection.busy && connection.written < request.length) {
      const took = socket.write(request.subarray(connection.written));
      if (took <= 0) return;
      connection.written += took;
    }
  }

  #receive(connection: Connection, text: string): void {
    connection.reply += text;
    const head = connection.reply.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(connection.reply)?.[1] ?? 0);
    if (connection.reply.length < head + 4 + length) return;
    if (this.#order.again === true && connection.reply.startsWith("HTTP/1.1 503")) {
      setTimeout(() => this.#beginAgain(connection), againMs);
      return;
    }
    if (!connection.reply.startsWith("HTTP/1.1 200")) this.#fail(connection.reply);
    this.#took[this.#answered++] = performance.now() - connection.due;
    connection.busy = false;
    if (this.#answered === this.#order.requests) this.#done.resolve();
    else if (this.#order.perSecond === undefined && this.#begun < this.#order.requests) {
      connection.due = performance.now();
      this.#begin(connection);
    } else this.#feed();
  }

  #fail(reply: string): void {
    if (this.#failed++ === 0 && !this.#order.quiet) process.stderr.write(`${reply.slice(0, 500)}\n`);
  }
}

function requestOf({ url, path, headers = {} }: LoadOrder, body: Uint8Array): Uint8Array {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

if (import.meta.main) {
  const order = JSON.parse(await Bun.stdin.text()) as LoadOrder;
  process.stdout.write(JSON.stringify(await new Sender(order).run()));
  process.exit(0);
}

// The HTTP layer by raw sockets: requests that two readers would part differently, slow ones, idle ones, pipelined
// ones. An event of a request that is refused must not be stored, and a hidden request must not be answered.

import { type Socket, connect } from "node:net";
import { readFileSync } from "node:fs";
import { addressOf } from "./kills.ts";
import { type ProofLedger, type SentEvent } from "./ledger.ts";
import type { Place, Running } from "./place.ts";
import { bodyOf, makeEvents, sendOn } from "./sender.ts";

/** What a request must come to: at most so many answers, and whether the hidden one may be among them: never. */
interface Smuggled {
  name: string;
  text(body: string, hidden: string): string;
}

const line = "POST /batch/ HTTP/1.1\r\nHost: h\r\n";

function chunked(body: string): string {
  return `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}

/**
 * Each carries `hidden`, a whole request, where a reader with another idea of lengths finds one. The outer request says
 * by its framing that `hidden` is a part of its body, or is itself to be refused.
 */
const corpus: Smuggled[] = [
  {
    name: "Content-Length and Transfer-Encoding",
    text: (body, hidden) =>
      `${line}Content-Length: ${body.length + hidden.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  },
  {
    name: "Transfer-Encoding before Content-Length",
    text: (body, hidden) =>
      `${line}Transfer-Encoding: chunked\r\nContent-Length: ${body.length}\r\n\r\n${chunked(body)}${hidden}`,
  },
  ...[
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: \x0bchunked",
    "Transfer-Encoding: CHUNKED;q=1",
    "X: y\nTransfer-Encoding: chunked",
    " Transfer-Encoding: chunked",
  ].map((header) => ({
    name: `${JSON.stringify(header)} beside a length`,
    text: (_body: string, hidden: string) =>
      `${line}${header}\r\nContent-Length: ${5 + hidden.length}\r\n\r\n0\r\n\r\n${hidden}`,
  })),
  {
    name: "two lengths that differ",
    text: (body, hidden) =>
      `${line}Content-Length: ${body.length + hidden.length}\r\nContent-Length: 0\r\n\r\n${hidden}`,
  },
  {
    name: "two lengths in one header",
    text: (_body, hidden) => `${line}Content-Length: 0, ${hidden.length}\r\n\r\n${hidden}`,
  },
  ...["+", "-", "0x", " 1", "1e"].map((mark) => ({
    name: `a length with ${JSON.stringify(mark)}`,
    text: (_body: string, hidden: string) =>
      `${line}Content-Length: ${mark}${hidden.length}\r\n\r\n${hidden}`,
  })),
  {
    name: "a length beyond all numbers",
    text: (_body, hidden) => `${line}Content-Length: 18446744073709551616\r\n\r\n${hidden}`,
  },
  ...["0x5", "5;a=\n0\r\n\r\n", "-1", "FFFFFFFFFFFFFFFF5", " 5", "5 5"].map((size) => ({
    name: `a chunk of ${JSON.stringify(size)} bytes`,
    text: (_body: string, hidden: string) =>
      `${line}Transfer-Encoding: chunked\r\n\r\n${size}\r\nabcde\r\n0\r\n\r\n${hidden}`,
  })),
  {
    name: "a chunk that ends with a bare LF",
    text: (_body, hidden) => `${line}Transfer-Encoding: chunked\r\n\r\n5\nabcde\n0\n\n${hidden}`,
  },
  {
    name: "a name with a blank",
    text: (_body, hidden) => `${line}Content-Length : ${hidden.length}\r\n\r\n${hidden}`,
  },
  {
    name: "a folded header",
    text: (_body, hidden) => `${line}Content-Length:\r\n ${hidden.length}\r\n\r\n${hidden}`,
  },
  {
    name: "a NUL in a header",
    text: (_body, hidden) => `${line}X: a\0b\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  },
  {
    name: "lines that end with LF",
    text: (_body, hidden) => `${line.replaceAll("\r", "")}Content-Length: ${hidden.length}\n\n${hidden}`,
  },
  {
    name: "a bare CR in a header",
    text: (_body, hidden) =>
      `${line}X: a\rContent-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  },
  {
    name: "a body of a GET",
    text: (_body, hidden) =>
      `GET /_health HTTP/1.1\r\nHost: h\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
  },
];

/** Sends each of the corpus; resolves to those whose hidden request was taken for one, with what came back. */
export async function smuggle(url: string, ledger: ProofLedger): Promise<string[]> {
  const found: string[] = [];
  for (const { name, text } of corpus) {
    const outer = makeEvents(1);
    const hidden = makeEvents(1);
    // Only the outer event may be stored: the hidden one is not in the ledger, so that it would be invented.
    ledger.send(outer);
    const request = text(bodyOf(outer), requestOf(hidden));
    const answers = await exchange(url, request);
    if (answers > 1) found.push(`${name}: ${answers} answers`);
  }
  return found;
}

export const corpusCount = corpus.length;

function requestOf(events: readonly SentEvent[]): string {
  const body = bodyOf(events);
  return `${line}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** How long is waited for a further answer, in ms. */
const quietMs = 150;

/** How many answers come back. */
function exchange(url: string, text: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<number>();
  let received = "";
  let quiet: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    socket.destroy();
    resolve(received.split(/HTTP\/1\.[01] [1-5]\d\d/).length - 1);
  };
  const wait = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(end, quietMs);
  };
  const socket = connect(Number(port), hostname, () => {
    socket.write(Buffer.from(text, "latin1"));
    wait();
  });
  socket.on("data", (piece: Buffer) => {
    received += piece.toString("latin1");
    wait();
  });
  socket.on("error", end);
  socket.on("close", end);
  return promise;
}

export interface HeldOptions {
  idle: number;
  slow: number;
  seconds: number;
}

export interface Held {
  /** How often the server closed a connection that said nothing, and one that came a byte at a time. */
  idleClosed: number;
  slowClosed: number;
  /** Resident bytes of the server: once it was warm, and at the end. */
  warmBytes: number;
  endBytes: number;
}

/** Mixed load beside connections that are idle, and those whose heads and bodies come a byte at a time. */
export async function hold(
  place: Place,
  ledger: ProofLedger,
  options: HeldOptions,
): Promise<Held & { server: Running }> {
  const { idle, slow, seconds } = options;
  const server = place.start();
  const url = await addressOf(server);
  const idlers = keepOpen(url, idle, () => "");
  const dripping = keepOpen(url, slow, (i) => slowBeginnings[i % 2]!);
  const drip = setInterval(() => {
    for (const socket of dripping.sockets) if (socket.writable) socket.write("a");
  }, 500);
  let isOver = false;
  const sender = { isOver: () => isOver };
  const load = [
    sendOn(url, ledger, { batch: 100, ...sender }),
    sendOn(url, ledger, { batch: 50, historical: true, ...sender }),
    ...Array.from({ length: 4 }, () => sendOn(url, ledger, { batch: 1, ...sender })),
    pipeline(url, () => isOver),
  ];
  await Bun.sleep((seconds * 1000) / 3);
  const warmBytes = residentBytes(server.pid);
  await Bun.sleep((seconds * 2000) / 3);
  const endBytes = residentBytes(server.pid);
  isOver = true;
  await Promise.all(load);
  clearInterval(drip);
  return { idleClosed: idlers.end(), slowClosed: dripping.end(), warmBytes, endBytes, server };
}

/** A head that does not end, and a body that does not. */
const slowBeginnings = [
  "POST /batch/ HTTP/1.1\r\nHost: h\r\nX-Slow: ",
  `${line}Content-Length: 20000\r\n\r\n{`,
];

/** Keeps so many connections: one that the server closes is opened again. `end` returns how many it closed. */
function keepOpen(
  url: string,
  count: number,
  beginning: (i: number) => string,
): { sockets: Set<Socket>; end: () => number } {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let [closed, isOver] = [0, false];
  const open = (i: number): void => {
    const socket = connect(Number(port), hostname, () => socket.write(beginning(i)));
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.on("close", () => {
      sockets.delete(socket);
      if (isOver) return;
      closed++;
      open(i);
    });
  };
  for (let i = 0; i < count; i++) open(i);
  const end = (): number => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
    return closed;
  };
  return { sockets, end };
}

/** Two requests at once on one connection, again and again. */
async function pipeline(url: string, isOver: () => boolean): Promise<void> {
  const health = "GET /_health HTTP/1.1\r\nHost: h\r\n\r\n";
  while (!isOver()) await exchange(url, health + health);
}

function residentBytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

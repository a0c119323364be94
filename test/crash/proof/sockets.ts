// The HTTP layer by raw sockets: requests that two readers would part differently, slow ones, idle ones, pipelined
// ones. An event of a request that is refused must not be stored, and a hidden request must not be answered.

import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { personalKey } from "../../support/server.ts";
import { addressOf } from "./kills.ts";
import { type ProofLedger, type SentEvent } from "./ledger.ts";
import type { Place, Running } from "./place.ts";
import type { Progress } from "./progress.ts";
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
    if (answers.length > 1) found.push(`${name}: ${answers.length} answers`);
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

/** The status of each answer that comes back. */
function exchange(url: string, text: string): Promise<number[]> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<number[]>();
  let received = "";
  let quiet: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    socket.destroy();
    resolve([...received.matchAll(/HTTP\/1\.[01] ([1-5]\d\d)/g)].map(([, status]) => Number(status)));
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
  /** How long each sender waits between two requests. */
  pauseMs: number;
  progress: Progress;
}

export interface Held {
  /** How often the server closed a connection that said nothing, and one that came a byte at a time. */
  idleClosed: number;
  slowClosed: number;
  /** Replies to reads. */
  reads: number;
  /** Resident bytes of the server: the mean of the second sixth of the time, once it is warm, of the last one, and the most. */
  warmBytes: number;
  endBytes: number;
  mostBytes: number;
}

/** Mixed load beside connections that are idle, and those whose heads and bodies come a byte at a time. */
export async function hold(
  place: Place,
  ledger: ProofLedger,
  options: HeldOptions,
): Promise<Held & { server: Running }> {
  const { idle, slow, seconds, pauseMs, progress } = options;
  const environment = { FLUSH_INTERVAL_MS: "500", BOOTSTRAP_PERSONAL_API_KEY: personalKey };
  const server = place.start({ environment });
  const url = await addressOf(server);
  const idlers = keepOpen(url, idle, () => "");
  const dripping = keepOpen(url, slow, (i) => slowBeginnings[i % 2]!);
  const drip = setInterval(() => {
    for (const socket of dripping.sockets) if (socket.writable) socket.write("a");
  }, 500);
  const began = performance.now();
  const isOver = (): boolean => performance.now() - began >= seconds * 1000;
  const sender = { isOver, pauseMs };
  const reading = readOn(url, isOver);
  const load = [
    sendOn(url, ledger, { batch: 100, ...sender }),
    sendOn(url, ledger, { batch: 50, historical: true, ...sender }),
    ...Array.from({ length: 4 }, () => sendOn(url, ledger, { batch: 1, ...sender })),
    pipeline(url, ledger, isOver),
    reading,
  ];
  const samples: number[] = [];
  for (; !isOver(); await Bun.sleep((seconds * 1000) / samplesCount)) {
    samples.push(residentBytes(server.pid));
    progress.tell(`RSS ${Math.round(samples.at(-1)! / 1e6)} MB, ${ledger.acknowledged} acknowledged`);
  }
  await Promise.all(load);
  clearInterval(drip);
  const sixth = Math.floor(samples.length / 6);
  return {
    idleClosed: idlers.end(),
    slowClosed: dripping.end(),
    reads: await reading,
    warmBytes: mean(samples.slice(sixth, sixth * 2)),
    endBytes: mean(samples.slice(-sixth)),
    mostBytes: Math.max(...samples),
    server,
  };
}

/** How often the memory is looked at. */
const samplesCount = 360;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
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

/**
 * Several requests at once on one connection, again and again. Answers come in the order of requests. Bun closes a
 * connection on which a request comes while one before it is not answered yet: then nobody was told anything.
 */
async function pipeline(url: string, ledger: ProofLedger, isOver: () => boolean): Promise<void> {
  const health = "GET /_health HTTP/1.1\r\nHost: h\r\n\r\n";
  while (!isOver()) {
    await exchange(url, health + health);
    const requests = Array.from({ length: 3 }, () => makeEvents(2));
    const records = requests.map((events) => ledger.send(events));
    const answers = await exchange(url, requests.map(requestOf).join(""));
    for (const [i, status] of answers.entries()) if (status === 200) ledger.acknowledge(records[i]!);
  }
}

const readPauseMs = 2000;

/** What a console asks for, one after the other. Resolves to how many were answered with 200. */
async function readOn(url: string, isOver: () => boolean): Promise<number> {
  const headers = { authorization: `Bearer ${personalKey}`, "content-type": "application/json" };
  const trends = {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: "e1" }],
    dateRange: { date_from: "-7d" },
  };
  const asked: [string, RequestInit][] = [
    ["events/?limit=20&after=2024-01-01", { headers }],
    ["persons/?limit=20", { headers }],
    ["query/", { headers, method: "POST", body: JSON.stringify({ query: trends }) }],
    ["insights/", { headers }],
  ];
  let answered = 0;
  for (let turn = 0; !isOver(); turn++) {
    const [path, init] = asked[turn % asked.length]!;
    const signal = AbortSignal.timeout(60_000);
    const reply = await fetch(`${url}/api/projects/1/${path}`, { ...init, signal }).catch(() => undefined);
    await reply?.arrayBuffer().catch(() => undefined);
    if (reply?.status === 200) answered++;
    else console.error(`${path} was answered with ${reply?.status}`);
    await Bun.sleep(readPauseMs);
  }
  return answered;
}

function residentBytes(pid: number): number {
  const [, kibibytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

// Between the server and ClickHouse: answers to INSERTs of events that leave it unknown what was stored, and outages.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { later } from "../../support/cleanup.ts";

/** How an INSERT goes wrong, and whether its rows are stored all the same. */
const ways = [
  { name: "too many parts", stores: false },
  { name: "memory limit", stores: false },
  { name: "memory limit", stores: true },
  { name: "reset", stores: false },
  { name: "reset", stores: true },
  { name: "reset within the answer", stores: true },
  { name: "200 with an exception", stores: false },
  { name: "200 with an exception", stores: true },
  { name: "hang", stores: false },
  { name: "hang", stores: true },
  { name: "garbage", stores: true },
] as const;
type Way = (typeof ways)[number];

export interface Proxy {
  /** An address by way of the proxy. */
  url(own: string): string;
  /** How many INSERTs are still to go wrong. */
  strikes: number;
  /** True: nothing is answered. */
  isAway: boolean;
  struck: Map<string, number>;
}

/** How long a struck hang lasts before its connection ends, in ms: the client's own patience is two minutes. */
const hangMs = 1500;

export async function openProxy(): Promise<Proxy> {
  let target = "";
  const proxy: Proxy = {
    url: (own) => {
      const { host, port } = new URL(own);
      target = `http://${host}`;
      return own.replace(`:${port}`, `:${(server.address() as AddressInfo).port}`);
    },
    strikes: 0,
    isAway: false,
    struck: new Map(),
  };
  let turn = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (proxy.isAway) return void request.socket.destroy();
    const body = await buffer(request);
    const isInsert = decodeURIComponent(request.url!.replaceAll("+", " ")).includes("INSERT INTO event_rows");
    // Two in three: what comes in between has to succeed.
    const isStruck = isInsert && proxy.strikes > 0 && turn++ % 3 < 2;
    const way = isStruck ? ways[Math.floor(Math.random() * ways.length)]! : undefined;
    if (way) {
      proxy.strikes--;
      const name = `${way.name}, ${way.stores ? "stored" : "not stored"}`;
      proxy.struck.set(name, (proxy.struck.get(name) ?? 0) + 1);
    }
    const forward = !way || way.stores;
    const reply = forward ? await ask(target, request, body) : undefined;
    if (way) await strike(way, response, request.socket);
    else await pass(reply!, response);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  return proxy;
}

function ask(target: string, request: IncomingMessage, body: Buffer): Promise<Response> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (["host", "connection", "content-length", "transfer-encoding", "accept-encoding"].includes(name))
      continue;
    headers.set(name, String(value));
  }
  const { method = "POST" } = request;
  return fetch(`${target}${request.url}`, { method, headers, ...(method !== "GET" && { body }) });
}

async function pass(reply: Response, response: ServerResponse): Promise<void> {
  const names = [...reply.headers].filter(
    ([name]) => !/^(content-length|transfer-encoding|connection)$/.test(name),
  );
  response.writeHead(reply.status, Object.fromEntries(names));
  response.end(Buffer.from(await reply.arrayBuffer()));
}

async function strike({ name }: Way, response: ServerResponse, socket: Socket): Promise<void> {
  const failed = (status: number, code: number, type: string): void => {
    response.writeHead(status, { "x-clickhouse-exception-code": String(code), "content-type": "text/plain" });
    response.end(`Code: ${code}. DB::Exception: a requested fault. (${type}) (version 25.1.1.1)\n`);
  };
  if (name === "too many parts") failed(500, 252, "TOO_MANY_PARTS");
  else if (name === "memory limit") failed(500, 241, "MEMORY_LIMIT_EXCEEDED");
  else if (name === "reset") socket.resetAndDestroy();
  else if (name === "reset within the answer") {
    response.writeHead(200, { "content-length": "10" });
    response.write("12");
    await Bun.sleep(5);
    socket.resetAndDestroy();
  } else if (name === "200 with an exception") {
    response.writeHead(200, { "content-type": "text/plain" });
    response.end("Code: 241. DB::Exception: a requested fault. (MEMORY_LIMIT_EXCEEDED) (version 25.1.1.1)\n");
  } else if (name === "hang") {
    await Bun.sleep(hangMs);
    socket.destroy();
  } else socket.end("this is no answer at all\r\n\r\n");
}

// Answers that the embedded engine cannot return in chunks: it sends them by HTTP to a listener in this process, at the
// speed of the client.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { quoteText } from "../clickhouse/statement.ts";
import type { Engine, EngineStatement } from "./chdb.ts";

interface Sent {
  request: IncomingMessage;
  response: ServerResponse;
}

/** How long the engine waits for a slow client, in seconds; clients have time-outs of their own. */
const patienceSeconds = 86_400;

/**
 * Opens a listener on 127.0.0.1 that receives what the engine sends, under random names. It makes the answer of a
 * SELECT without its FORMAT; `whole` is the same statement with it, for an answer without rows.
 */
export function openAnswers() {
  const awaited = new Map<string, (sent: Sent) => void>();
  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? "";
    const receive = awaited.get(name);
    awaited.delete(name);
    if (receive) receive({ request, response });
    else response.writeHead(404).end();
  });
  // The engine may compute for as long as its client waits.
  server.requestTimeout = 0;
  server.timeout = 0;
  // The listener does not keep the process alive.
  server.unref();
  let listening: Promise<number> | undefined;

  return async function* (
    engine: Engine,
    whole: EngineStatement,
    select: string,
    format: string,
  ): AsyncGenerator<Uint8Array, void> {
    const port = await (listening ??= listenHere(server, 0));
    const name = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<Sent>();
    awaited.set(name, resolve);
    const settings = new Map([...whole.settings, ...patient]);
    const target = `url(${quoteText(`http://127.0.0.1:${port}/${name}`)}, ${quoteText(format)})`;
    const writing = engine.run({ ...whole, settings, text: `INSERT INTO FUNCTION ${target} ${select}` });
    let sent: Sent | undefined;
    // The engine notices a kill only while it does not wait for its listener.
    const cut = (): void => void sent?.request.socket.destroy();
    whole.abort.addEventListener("abort", cut, { once: true });
    try {
      sent = await Promise.race([promise, writing.then(() => undefined)]);
      if (sent) yield* readChunks(sent, writing);
      else yield await engine.run(whole);
    } finally {
      awaited.delete(name);
      whole.abort.removeEventListener("abort", cut);
      cut();
      await writing.catch(() => {});
    }
  };
}

export async function listenHere(server: Server, port: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

const patient: readonly [string, string][] = [
  ["http_send_timeout", String(patienceSeconds)],
  ["http_receive_timeout", String(patienceSeconds)],
];

/** @throws the statement's error, also in the middle of the answer. */
async function* readChunks({ request, response }: Sent, writing: Promise<unknown>) {
  try {
    for await (const chunk of request) yield chunk as Uint8Array;
  } catch (thrown) {
    await writing;
    throw thrown;
  }
  // The engine would send its next answer over this connection, which is cut.
  response.writeHead(200, { connection: "close" }).end();
  await writing;
}

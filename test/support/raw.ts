// A request as it is written, over a socket of its own: for what no client of a library would send.

import { connect } from "node:net";

/** Sends one request as it is written here; its connection ends with the answer. */
export function sendRaw(url: string, head: string[], body = ""): Promise<{ status: number; text: string }> {
  const length = body ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const pieces: Buffer[] = [];
  const socket = connect(Number(port), hostname, () =>
    socket.write(`${[...head, ...length, "Connection: close"].join("\r\n")}\r\n\r\n${body}`),
  );
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.on("error", reject);
  socket.on("close", () => {
    const text = Buffer.concat(pieces).toString();
    resolve({ status: Number(text.slice(9, 12)), text });
  });
  return promise;
}

// A listener on loopback that takes connections and what is sent there, and never answers.

import { type AddressInfo, createServer, type Socket } from "node:net";
import { later } from "./cleanup.ts";

export interface Silent {
  port: number;
  url: string;
  /** Connections so far. */
  connections(): number;
}

export async function openSilent(): Promise<Silent> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.resume();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  later(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/batch/`, connections: () => connections };
}

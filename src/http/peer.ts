// Facts about a request that are not in it: the client's IP address, as seen by the server that accepted the
// connection, the connection itself for a client that waits for 100 Continue, and the X-Request-Id of the answer.

import { readdirSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { systemClock } from "../core/clock.ts";
import { httpLimits } from "./limits.ts";

/** The servers of this process; each registers when it starts to listen. */
export class PeerAddresses {
  readonly #servers: Bun.Server<undefined>[] = [];
  /** When a connection may be searched for again. */
  #searchAt = 0;

  accept(server: Bun.Server<undefined>): void {
    this.#servers.push(server);
  }

  /** An IP address; undefined once the request is answered, or when it did not come through these servers. */
  of(request: Request): string | undefined {
    const received = findReceived(request);
    for (const server of this.#servers) {
      const address = server.requestIP(received)?.address;
      if (address !== undefined) return address;
    }
    return undefined;
  }

  /**
   * Answers 100 Continue to a client that waits for it. The runtime gives no way to answer before the body: the
   * connection is found in Linux's tables and written to, in the turn that received the request, so that it cannot be
   * another's.
   *
   * A search reads all connections, so searches have a share of the time; a client without an answer sends its body
   * after a wait of its own.
   */
  continueUpload(request: Request): void {
    const beganAt = systemClock.elapsed();
    if (process.platform !== "linux" || beganAt < this.#searchAt) return;
    const received = findReceived(request);
    try {
      for (const server of this.#servers) {
        const peer = server.requestIP(received);
        const socket = peer === null ? undefined : findSocket(server.port ?? 0, peer);
        if (socket !== undefined) writeSync(socket, "HTTP/1.1 100 Continue\r\n\r\n");
      }
    } catch {
      // The client has left, or the system shows no tables.
    }
    const took = systemClock.elapsed() - beganAt;
    this.#searchAt = beganAt + took * httpLimits.connectionSearchRest;
  }
}

const originals = new WeakMap<Request, Request>();

/** Records that `copy` replaces a request: the runtime knows the connection of the received one only. */
export function copyPeer(copy: Request, received: Request): Request {
  originals.set(copy, findReceived(received));
  return copy;
}

/** The request as the runtime received it, for a copy or for itself. */
function findReceived(request: Request): Request {
  return originals.get(request) ?? request;
}

/** Ids assigned before the answer, by received request: a proxy's, and those that a log line has named. */
export const requestIds = new WeakMap<Request, string>();

export function readRequestId(request: Request): string {
  return requestIds.getOrInsertComputed(findReceived(request), () => crypto.randomUUID());
}

/** The file descriptor of this process's connection from `peer` to `port`; undefined when it is not there. */
function findSocket(port: number, peer: Bun.SocketAddress): number | undefined {
  const inode = readInode("tcp", port, peer) ?? readInode("tcp6", port, peer);
  if (inode === undefined) return undefined;
  const link = `socket:[${inode}]`;
  return readdirSync("/proc/self/fd")
    .map(Number)
    .find((descriptor) => readDescriptor(descriptor) === link);
}

function readDescriptor(descriptor: number): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return "";
  }
}

/**
 * The inode of the one established connection from `peer`. Source: proc_net_tcp.txt of Linux, which shows an address as
 * words of the machine's order. None of an IPv6 peer: its client sends the body after a wait of its own.
 */
function readInode(table: "tcp" | "tcp6", port: number, peer: Bun.SocketAddress): string | undefined {
  const [, digits] = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/.exec(peer.address) ?? [];
  if (digits === undefined) return undefined;
  const address = toHex(digits.split(".").map(Number).toReversed());
  const remote = `${address}:${toHex([peer.port >> 8, peer.port & 0xff])}`;
  const local = `:${toHex([port >> 8, port & 0xff])}`;
  const lines = readFileSync(`/proc/self/net/${table}`, "latin1").split("\n");
  const found = lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(local) && fields[2]?.endsWith(remote) && fields[3] === "01");
  return found.length === 1 ? found[0]![9] : undefined;
}

function toHex(bytes: readonly number[]): string {
  return Buffer.from(bytes).toString("hex").toUpperCase();
}

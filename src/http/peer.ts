// Facts about a request that are not in it: the client's IP address, as seen by the server that accepted the
// connection, and the X-Request-Id of the answer.

/** The servers of this process; each registers when it starts to listen. */
export class PeerAddresses {
  readonly #servers: Bun.Server<undefined>[] = [];

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

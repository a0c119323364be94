// The client's IP address of a request, as the server that accepted the connection knows it.

/** The servers of this process; each registers when it starts to listen. */
export class Peers {
  readonly #servers: Bun.Server<undefined>[] = [];

  accept(server: Bun.Server<undefined>): void {
    this.#servers.push(server);
  }

  /** An IP address; undefined once the request is answered, or when it did not come through these servers. */
  of(request: Request): string | undefined {
    const received = originals.get(request) ?? request;
    for (const server of this.#servers) {
      const address = server.requestIP(received)?.address;
      if (address !== undefined) return address;
    }
    return undefined;
  }
}

const originals = new WeakMap<Request, Request>();

/** Records that `copy` replaces a request: the runtime knows the connection of the received one only. */
export function standsFor(copy: Request, received: Request): Request {
  originals.set(copy, originals.get(received) ?? received);
  return copy;
}

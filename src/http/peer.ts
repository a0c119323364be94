// Who is at the other end of a request's connection, as the server that accepted it knows.

/** The servers of this process, asked in turn; filled while they are made. */
export class Peers {
  readonly #servers: Bun.Server<undefined>[] = [];

  accept(server: Bun.Server<undefined>): void {
    this.#servers.push(server);
  }

  /** An IP address; undefined once the request is answered, or when it came by another way. */
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

/** Notes that `copy` stands for a request as it was received: the runtime knows only that one's connection. */
export function standsFor(copy: Request, received: Request): Request {
  originals.set(copy, originals.get(received) ?? received);
  return copy;
}

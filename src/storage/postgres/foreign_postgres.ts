// A Postgres that belongs to somebody else: one connection, to an address that was checked, encrypted where it can be.
// Never our own tables.

import { connect } from "node:net";
import postgres from "postgres";
import { limits } from "../../core/limits.ts";
import { storageLimits } from "../limits.ts";
import type { Postgres } from "./postgres.ts";

export interface ForeignPostgres {
  /** An address, not a name: it was looked up and checked. */
  address: string;
  /** The name its certificate must be for. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** Nobody known vouches for its certificate. */
  selfSigned: boolean;
}

/**
 * Opens one connection. A server that speaks TLS must show a certificate for its name, unless it signs its own.
 * @throws what the socket says.
 */
export async function openForeignPostgres(place: ForeignPostgres): Promise<Postgres> {
  const { address, host, port, user, password, database, selfSigned } = place;
  const tls = await speaksTls(address, port);
  return postgres({
    host: address,
    port,
    user,
    password,
    database,
    max: 1,
    ssl: tls ? { rejectUnauthorized: !selfSigned, servername: host } : false,
    connect_timeout: limits.connectMsMax / 1000,
    // One that is lost fails its statement; nobody waits here for it to come back.
    backoff: () => 0,
    max_lifetime: null,
    connection: { application_name: "sluice", statement_timeout: storageLimits.exportCopyMsMax },
    onnotice: () => {},
  });
}

/** Asks as every client does before its first message: S is yes, N is no. */
async function speaksTls(host: string, port: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port });
  const timer = setTimeout(() => reject(new Error("the connection timed out")), limits.connectMsMax);
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the connection was closed")));
  socket.on("connect", () => socket.write(Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47)));
  socket.on("data", (bytes) => resolve(bytes[0] === 83));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

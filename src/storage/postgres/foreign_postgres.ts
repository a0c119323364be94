// A connection to a user's Postgres, at an address that was checked, with TLS where the server offers it.

import { connect, isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import postgres from "postgres";
import { limits } from "../../core/limits.ts";
import { storageLimits } from "../limits.ts";
import type { Postgres } from "./postgres.ts";

interface ForeignPostgres {
  /** An address that was resolved and checked, not a name. */
  address: string;
  /** The name that its certificate must have. */
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** Errors of a certificate that no known authority has signed. */
  selfSigned: boolean;
}

/**
 * Opens one connection. A server with TLS must show a certificate for its name, unless it is self-signed.
 * @throws the error of the socket.
 */
export async function openForeignPostgres(target: ForeignPostgres): Promise<Postgres> {
  const { address, host, port, user, password, database, selfSigned } = target;
  const tls = await speaksTls(address, port);
  return postgres({
    host: address,
    port,
    user,
    password,
    database,
    max: 1,
    ssl: tls && {
      rejectUnauthorized: !selfSigned,
      // A server name is a name (RFC 6066); an address is compared with those of the certificate.
      ...(isIP(host) === 0 && { servername: host }),
      checkServerIdentity: (_name: string, certificate: PeerCertificate) =>
        selfSigned ? undefined : checkServerIdentity(host, certificate),
    },
    connect_timeout: limits.connectMsMax / 1000,
    // A lost connection fails its statement and is not opened again.
    backoff: () => 0,
    max_lifetime: null,
    connection: { application_name: "sluice", statement_timeout: storageLimits.exportCopyMsMax },
    onnotice: () => {},
  });
}

/** Sends Postgres' SSLRequest: the answer is S for yes, N for no. */
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

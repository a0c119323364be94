// A connection to a user's Postgres, at an address that was checked, with TLS where the server offers it. The client
// trusts its server: it would wait for the end of any message and search for a missing NUL for ever.

import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls } from "node:tls";
import postgres from "postgres";
import { limits } from "../../core/limits.ts";
import { storageLimits } from "../limits.ts";
import type { Postgres } from "./postgres.ts";

interface ForeignPostgres {
  /** An address that was resolved and checked, not a name. */
  address: string;
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
  const { user, password, database } = target;
  let opened: Socket | undefined = await openSocket(target);
  // A socket that no statement uses is closed.
  const unused = setTimeout(() => opened?.destroy(), limits.connectMsMax);
  boundAnswers(opened);
  const options = {
    /** A lost connection fails its statement and is not opened again. */
    socket: (): Socket => {
      clearTimeout(unused);
      const socket = opened;
      opened = undefined;
      if (!socket || socket.destroyed) throw new Error("the connection was closed");
      return socket;
    },
    user,
    password,
    database,
    max: 1,
    fetch_types: false,
    connect_timeout: limits.connectMsMax / 1000,
    backoff: () => 0,
    max_lifetime: null,
    connection: {
      application_name: "sluice",
      // Moments are written in UTC, without a zone: the database's own would move them.
      TimeZone: "UTC",
      client_min_messages: "error",
      statement_timeout: storageLimits.exportCopyMsMax,
    },
    onnotice: () => {},
  };
  return postgres(options);
}

/** Postgres' SSLRequest: the answer is S for yes, N for no. */
const sslRequest = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);

async function openSocket({ address, host, port, selfSigned }: ForeignPostgres): Promise<Socket> {
  const socket = connect({ host: address, port });
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const timer = setTimeout(() => reject(new Error("the connection timed out")), limits.connectMsMax);
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("the connection was closed")));
  socket.on("connect", () => socket.write(sslRequest));
  socket.once("data", (bytes) => {
    if (bytes[0] !== 83) {
      resolve(socket);
      return;
    }
    const secure = connectTls({
      socket,
      rejectUnauthorized: !selfSigned,
      // A server name is a name (RFC 6066); an address is compared with those of the certificate.
      ...(isIP(host) === 0 && { servername: host }),
      checkServerIdentity: (_name, certificate) =>
        selfSigned ? undefined : checkServerIdentity(host, certificate),
    });
    secure.on("error", reject);
    secure.on("secureConnect", () => resolve(secure));
  });
  try {
    return await promise;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

/** Destroys the socket before the client receives bytes that harm it. */
function boundAnswers(socket: Socket): void {
  const { emit } = socket;
  const check = answerCheck();
  Object.assign(socket, {
    emit(event: string, ...values: unknown[]): boolean {
      const problem = event === "data" ? check(values[0] as Buffer) : undefined;
      if (problem === undefined) return Reflect.apply(emit, socket, [event, ...values]);
      socket.destroy(new Error(`the server's answer ${problem}`));
      return false;
    },
  });
}

/** Messages of the protocol that our statements are answered with. */
const knownTypes = "RSKZTDCENGIAnt123";

const checkedWhole: Readonly<Record<string, (body: Buffer) => boolean>> = { R: isLogin, T: hasNames };

/** Finds what is wrong with the messages from a server, given its bytes as they arrive. */
function answerCheck(): (chunk: Buffer) => string | undefined {
  const { foreignAnswerBytesMax: bytesMax, foreignMessageBytesMax } = storageLimits;
  /** Bytes of the current message that have not arrived; then of one that is checked whole. */
  let missing = 0;
  let buffer = Buffer.alloc(0);
  let answerBytes = 0;
  /** Settings of the server, which the client never forgets. */
  let settingBytes = 0;
  return (chunk) => {
    buffer = Buffer.concat([buffer, chunk]);
    answerBytes += chunk.length;
    for (;;) {
      const skipped = Math.min(missing, buffer.length);
      missing -= skipped;
      buffer = buffer.subarray(skipped);
      if (answerBytes + settingBytes > bytesMax) return `has more than ${bytesMax} bytes`;
      if (buffer.length < 5) return undefined;
      const type = String.fromCharCode(buffer[0]!);
      const length = buffer.readUInt32BE(1) + 1;
      if (length > bytesMax) return `has more than ${bytesMax} bytes`;
      const isSound = checkedWhole[type];
      const isKnown = knownTypes.includes(type) && length >= 5;
      if (!isKnown || (isSound && length > foreignMessageBytesMax)) return "is not of Postgres";
      if (isSound && buffer.length < length) return undefined;
      if (isSound && !isSound(buffer.subarray(5, length)))
        return "asks for an unknown login, or has unnamed columns";
      if (type === "S") settingBytes += length;
      if (type === "Z") answerBytes = 0;
      missing = length;
    }
  };
}

/** Accepted, a password, MD5, or SCRAM with so few iterations that they take milliseconds. */
function isLogin(body: Buffer): boolean {
  const kind = body.length < 4 ? -1 : body.readUInt32BE(0);
  if (kind === 11) return /^r=[^,]+,s=[A-Za-z0-9+/]+=*,i=[1-9]\d{0,4}$/.test(body.toString("latin1", 4));
  return [0, 3, 5, 10, 12].includes(kind);
}

/** Each column has a name that ends, and 18 bytes. */
function hasNames(body: Buffer): boolean {
  if (body.length < 2) return false;
  let at = 2;
  for (let columns = body.readUInt16BE(0); columns > 0; columns--) {
    const end = body.indexOf(0, at);
    if (end < 0) return false;
    at = end + 19;
  }
  return at <= body.length;
}

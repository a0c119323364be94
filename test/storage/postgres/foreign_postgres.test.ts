// A user's Postgres: with TLS under a name and under an address; one that answers with anything.

import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { TLSSocket } from "node:tls";
import { openForeignPostgres } from "../../../src/storage/postgres/foreign_postgres.ts";
import type { Postgres } from "../../../src/storage/postgres/postgres.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";

afterAll(cleanUp);

const openssl = Bun.which("openssl");

/** A server that offers TLS and then refuses every password, and the names that clients asked for. */
async function startTls() {
  const folder = makeFolder();
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder, name)) as [string, string];
  const made =
    "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  spawnSync(openssl!, [...made.split(" "), "-keyout", key, "-out", cert]);
  const names: (string | false)[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("S");
      const options = { isServer: true, key: readFileSync(key), cert: readFileSync(cert) };
      const secure = new TLSSocket(socket, options);
      secure.on("error", () => {});
      secure.once("data", () => {
        names.push((secure as TLSSocket & { servername: string | false }).servername);
        const fields = Buffer.from("SFATAL\0VFATAL\0C28P01\0Mno such password\0\0");
        const length = Buffer.alloc(4);
        length.writeInt32BE(fields.length + 4);
        secure.end(Buffer.concat([Buffer.from("E"), length, fields]));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  return { port: (server.address() as AddressInfo).port, names };
}

async function select(sql: Postgres): Promise<void> {
  for (let statements = 0; statements < 8; statements++) await sql`SELECT 1`;
}

async function copy(sql: Postgres): Promise<void> {
  const copying = await sql.unsafe("COPY rows FROM STDIN").writable();
  await pipeline(async function* () {
    for (;;) yield Buffer.from(`${"x".repeat(1000)}\n`);
  }, copying);
}

async function refusalOf(host: string, port: number, selfSigned: boolean, use = select): Promise<string> {
  const login = { user: "u", password: "p", database: "d" };
  try {
    const sql = await openForeignPostgres({ address: "127.0.0.1", host, port, ...login, selfSigned });
    later(() => sql.end({ timeout: 0 }));
    await use(sql);
    return "none";
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

test.skipIf(!openssl)("an address is no server name, and a name is", async () => {
  const { port, names } = await startTls();
  expect(await refusalOf("127.0.0.1", port, true)).toBe("no such password");
  expect(await refusalOf("localhost", port, true)).toBe("no such password");
  expect(names.map((name) => name || "")).toEqual(["", "localhost"]);
  expect(await refusalOf("127.0.0.1", port, false)).toMatch(/self.signed/i);
  expect(names).toHaveLength(2);
});

function message(type: string, body: Uint8Array | string, length = body.length + 4): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

const welcome = message("R", "\0\0\0\0");
const ready = message("Z", "I");
const mebibyte = "x".repeat(1_048_576);

interface Hostile {
  /** Sent in answer to the startup, and then to the first statement. */
  login?: Buffer[];
  answer?: Buffer[];
  /** Repeated after these until the connection ends. */
  endless?: Buffer;
  use?: typeof select;
}

/** How a statement ends at a server that sends this, and the bytes that it could send. */
async function meet({ login = [welcome, ready], answer = [], endless, use }: Hostile) {
  let sent = 0;
  const flood = (socket: Socket): void => {
    if (!endless) return;
    while (!socket.destroyed) {
      sent += endless.length;
      if (!socket.write(endless)) break;
    }
    socket.once("drain", () => flood(socket));
  };
  const replies = [Buffer.from("N"), Buffer.concat(login), Buffer.concat(answer)];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      const reply = replies.shift();
      if (reply) socket.write(reply);
      if (replies.length === 0) flood(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  const refusal = await refusalOf("localhost", (server.address() as AddressInfo).port, false, use);
  return { refusal, sent };
}

const columns = message("T", `\0\x01a\0${"\0".repeat(18)}`);

test.each<[string, Hostile]>([
  ["one message without an end", { answer: [message("D", "", 0x7fffffff)], endless: Buffer.from(mebibyte) }],
  [
    "one message during a copy",
    {
      answer: [message("G", "\0\0\0"), message("N", "", 0x7fffffff)],
      endless: Buffer.from(mebibyte),
      use: copy,
    },
  ],
  ["notices during a copy", { answer: [message("G", "\0\0\0")], endless: message("N", mebibyte), use: copy }],
  ["messages of 3 MB", { endless: message("N", mebibyte.repeat(3)) }],
  ["rows without an end", { answer: [columns], endless: message("D", `\0\x01\0\x10\0\0${mebibyte}`) }],
  ["settings without an end", { endless: Buffer.concat([message("S", `${mebibyte}\0on\0`), ready]) }],
])("%s end the connection after a few megabytes", async (_, hostile) => {
  const { refusal, sent } = await meet(hostile);
  // A row that is being written may be the first to find the connection closed.
  const reason = "the server's answer has more than 4194304 bytes";
  expect(hostile.use === copy ? [reason, "Socket is closed"] : [reason]).toContain(refusal);
  // What the system buffers on both sides, too.
  expect(sent).toBeLessThan(64 * 1_048_576);
});

const scram = (step: string) => ({ login: [message("R", "\0\0\0\x0a"), message("R", `\0\0\0\x0b${step}`)] });

test.each<[string, Hostile, string]>([
  ["a login of an hour", scram("r=a,s=AAAA,i=2147483647"), "asks for an unknown login"],
  ["a login without its parts", scram("r=a"), "asks for an unknown login"],
  ["a login cut off", { login: [message("R", "\0")] }, "asks for an unknown login"],
  ["a login of a megabyte", { login: [message("R", mebibyte)] }, "is not of Postgres"],
  [
    "a column whose name does not end",
    { answer: [message("T", "\0\x01abc")] },
    "asks for an unknown login, or has unnamed columns",
  ],
  [
    "columns that are not there",
    { answer: [message("T", "\xff\xff")] },
    "asks for an unknown login, or has unnamed columns",
  ],
  ["a message that is none", { answer: [message("Z", "", 3)] }, "is not of Postgres"],
  ["a suspended portal", { answer: [message("s", "")] }, "is not of Postgres"],
  ["another protocol", { login: [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")] }, "has more than"],
])("%s ends the connection with the reason", async (_, hostile, reason) => {
  expect((await meet(hostile)).refusal).toContain(`the server's answer ${reason}`);
});

test("a server that closes the connection before the login is not asked again", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write("N");
      socket.once("data", () => socket.end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  expect(await refusalOf("localhost", (server.address() as AddressInfo).port, false)).toMatch(/closed/i);
  expect(connections).toBe(1);
});

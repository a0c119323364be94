// A user's Postgres with TLS: under a name and under an address.

import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { openForeignPostgres } from "../../../src/storage/postgres/foreign_postgres.ts";
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

async function refusalOf(host: string, port: number, selfSigned: boolean): Promise<string> {
  const login = { user: "u", password: "p", database: "d" };
  const sql = await openForeignPostgres({ address: "127.0.0.1", host, port, ...login, selfSigned });
  const refusal = await sql`SELECT 1`.then(
    () => "none",
    (thrown: Error) => thrown.message,
  );
  await sql.end({ timeout: 0 });
  return refusal;
}

test.skipIf(!openssl)("an address is no server name, and a name is", async () => {
  const { port, names } = await startTls();
  expect(await refusalOf("127.0.0.1", port, true)).toBe("no such password");
  expect(await refusalOf("localhost", port, true)).toBe("no such password");
  expect(names.map((name) => name || "")).toEqual(["", "localhost"]);
  expect(await refusalOf("127.0.0.1", port, false)).toMatch(/self.signed/i);
  expect(names).toHaveLength(2);
});

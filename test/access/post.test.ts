// One request to a user's URL, against servers that answer as an attacker would.

import { afterAll, expect, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { type ForeignAnswer, NoAnswer, postTo } from "../../src/access/post.ts";
import { cleanUp, later } from "../support/cleanup.ts";

afterAll(cleanUp);

/** Writes again whenever the former text is sent, until the connection is closed. */
function endless(socket: Socket, text: string): void {
  const more = (): boolean => socket.writable && socket.write(text, () => setTimeout(more, 1));
  more();
}

/** The answer of a server that does `act` after the first bytes of a request, and the connections that it saw. */
async function answerOf(act: (socket: Socket) => void, msMax = 30_000) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => {});
    socket.once("data", () => act(socket));
    later(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://receiver.invalid:${port}/`);
  const answer = await postTo(url, "127.0.0.1", Buffer.from("{}"), { headers: {}, msMax }).catch(
    (thrown: unknown) => thrown as NoAnswer,
  );
  return { answer, connections };
}

test("redirects are answers: nothing is asked of the address that they name", async () => {
  const elsewhere = createServer(() => (reached = true));
  let reached = false;
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  later(() => elsewhere.close());
  const { port } = elsewhere.address() as AddressInfo;
  for (const status of [301, 302, 303, 307, 308]) {
    for (const to of [`http://127.0.0.1:${port}/`, "file:///etc/passwd", `//127.0.0.1:${port}/`, "/other"]) {
      const head = `HTTP/1.1 ${status} x\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`;
      const { answer, connections } = await answerOf((socket) => socket.write(head));
      expect([(answer as ForeignAnswer).status, connections]).toEqual([status, 1]);
    }
  }
  expect(reached).toBe(false);
});

test("an answer without end is read to its first characters, and never inflated", async () => {
  const head = "HTTP/1.1 200 OK\r\n";
  const { answer } = await answerOf((socket) => {
    socket.write(`${head}\r\n`);
    endless(socket, "x".repeat(65_536));
  });
  expect(answer).toMatchObject({ status: 200, text: "x".repeat(300) });
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  for (const body of [bomb, Buffer.from("hello")]) {
    const zipped = await answerOf((socket) => {
      socket.write(`${head}content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    expect(zipped.answer).toMatchObject({ status: 200, text: body.toString().slice(0, 300) });
  }
});

test("heads without end, other protocols and broken answers are no answer", async () => {
  const heads: Record<string, (socket: Socket) => void> = {
    "a header without end": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx: ");
      endless(socket, "y".repeat(65_536));
    },
    "headers without end": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      endless(socket, `x: ${"y".repeat(1000)}\r\n`);
    },
    "a status without end": (socket) => {
      socket.write("HTTP/1.1 200 ");
      endless(socket, "y".repeat(65_536));
    },
    "chunks too long": (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"F".repeat(20)}\r\nhello`);
    },
    "another protocol": (socket) => socket.write("SSH-2.0-x\r\n"),
    "a switch to another protocol": (socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
    },
    "no answer": (socket) => socket.destroy(),
  };
  for (const [name, act] of Object.entries(heads)) {
    expect([name, (await answerOf(act)).answer]).toEqual([name, expect.any(NoAnswer)]);
  }
});

test("whatever comes slowly ends with the time limit", async () => {
  const slow: Record<string, (socket: Socket) => void> = {
    silence: () => {},
    "interim answers without end": (socket) => endless(socket, "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
    "a body of one byte at a time": (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
      setTimeout(() => socket.write("x"), 10);
    },
  };
  for (const [name, act] of Object.entries(slow)) {
    const { answer } = await answerOf(act, 300);
    expect([name, (answer as Error).message]).toEqual([name, "no answer within 0.3 s"]);
  }
});

// A process that opens connections, announces a body on each, sends the beginning of it and nothing more. One that the
// server closes is opened again. It prints a line when all are open, and one for each line that it reads: what was
// answered.

import { connect } from "node:net";
import { createInterface } from "node:readline";

const [url, path, count, announced, begun] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const { hostname, port } = new URL(url);
const head = `POST ${path} HTTP/1.1\r\nHost: sluice\r\nContent-Length: ${announced}\r\n\r\n`;
const againMs = 200;
const answers: Record<string, number> = {};

function open(): void {
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.on("close", () => setTimeout(open, againMs));
  socket.on("data", (piece: Buffer) => {
    const status = piece.toString("latin1", 9, 12);
    answers[status] = (answers[status] ?? 0) + 1;
    socket.destroy();
  });
  socket.write(head + begun);
}

for (let i = 0; i < Number(count); i++) {
  open();
  // The queue of connections that are not accepted yet is short.
  if (i % 100 === 99) await Bun.sleep(10);
}
process.stdout.write("open\n");

createInterface({ input: process.stdin })
  .on("line", () => process.stdout.write(`${JSON.stringify(answers)}\n`))
  .on("close", () => process.exit(0));

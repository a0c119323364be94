// A mail server that accepts everything and stores nothing, in a process of its own. It prints its port; when its
// standard input ends, it prints how many e-mails came, and for how many different recipients.

import { SMTPServer } from "smtp-server";

const readers = new Set<string>();
let letters = 0;
const server = new SMTPServer({
  disabledCommands: ["STARTTLS", "AUTH"],
  disableReverseLookup: true,
  onData: (stream, session, done) => {
    stream.on("data", () => {});
    stream.on("end", () => {
      letters++;
      for (const { address } of session.envelope.rcptTo) readers.add(address);
      done();
    });
  },
});
server.on("error", () => {});
server.listen(0, "127.0.0.1", () => {
  const address = server.server.address();
  process.stdout.write(`${typeof address === "object" && address ? address.port : 0}\n`);
});
await Bun.stdin.text();
process.stdout.write(`${JSON.stringify({ letters, readers: readers.size })}\n`);
process.exit(0);

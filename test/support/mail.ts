// A real SMTP server on loopback that keeps what it is sent, and can be told to refuse. Never leaves this machine.

import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { later } from "./cleanup.ts";

export interface Received {
  to: string;
  from: string;
  raw: string;
  mail: Email;
}

export interface MailSink {
  port: number;
  url: string;
  received: Received[];
  /** Connections there were. */
  connections: number;
  /** An answer other than "taken" for the next RCPT or DATA: "rcpt 550 No such user". */
  refusals: string[];
  /** What happens when a whole e-mail has arrived, before it is answered. */
  beforeAnswer: (to: string) => Promise<void> | void;
  close(): Promise<void>;
}

export async function openMailSink(options: Partial<SMTPServerOptions> = {}, port = 0): Promise<MailSink> {
  const refusal = (stage: string): Error | undefined => {
    const at = sink.refusals.findIndex((one) => one.startsWith(`${stage} `));
    if (at < 0) return undefined;
    const [, code, ...words] = sink.refusals.splice(at, 1)[0]!.split(" ");
    return Object.assign(new Error(words.join(" ")), { responseCode: Number(code) });
  };
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS", "AUTH"],
    disableReverseLookup: true,
    closeTimeout: 100,
    onConnect: (_session, done) => {
      sink.connections++;
      done();
    },
    onRcptTo: (_address, _session, done) => done(refusal("rcpt")),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        void (async () => {
          const refused = refusal("data");
          if (refused) return done(refused);
          const raw = Buffer.concat(chunks).toString("utf8");
          const { rcptTo, mailFrom } = session.envelope;
          const to = rcptTo.map(({ address }) => address).join();
          const from = mailFrom === false ? "" : mailFrom.address;
          sink.received.push({ to, from, raw, mail: await PostalMime.parse(raw) });
          await sink.beforeAnswer(to);
          done();
        })();
      });
    },
    ...options,
  });
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", () => resolve()));
  const address = server.server.address();
  const bound = typeof address === "object" && address ? address.port : 0;
  let closed = false;
  const sink: MailSink = {
    port: bound,
    url: `smtp://127.0.0.1:${bound}`,
    received: [],
    connections: 0,
    refusals: [],
    beforeAnswer: () => {},
    close: async () => {
      if (closed) return;
      closed = true;
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  later(() => sink.close());
  return sink;
}

import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import { DeliveryError } from "../../../src/subscriptions/channels/delivery_error.ts";
import { openMail } from "../../../src/subscriptions/channels/smtp.ts";
import { cleanUp, later } from "../../support/cleanup.ts";
import { type MailSink, openMailSink } from "../../support/mail.ts";

let sink: MailSink;

beforeAll(async () => {
  sink = await openMailSink();
});

afterAll(cleanUp);

const email = {
  to: "reader@example.com",
  subject: "Numbers, 15 January 2024",
  text: "plain",
  html: '<p>rich <img src="cid:chart0@sluice"></p>',
  pictures: [{ cid: "chart0@sluice", png: new Uint8Array([137, 80, 78, 71]) }],
  id: "id.1@sluice",
  unsubscribe: "https://sluice.example/subscriptions/unsubscribe/token",
};

function mailTo(smtpUrl: string | undefined, from: string | undefined = "Sluice <reports@sluice.example>") {
  const mail = openMail({ smtpUrl, from });
  later(() => mail.close());
  return mail;
}

async function failureOf(sending: Promise<void>): Promise<DeliveryError> {
  const failure: unknown = await sending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(failure instanceof DeliveryError)) throw new Error(`it ended as ${String(failure)}`);
  return failure;
}

test("a letter arrives in both forms, with its picture inside and a way out", async () => {
  await mailTo(sink.url).send(email);
  const { mail, raw, to, from } = sink.received.at(-1)!;
  expect([to, from]).toEqual(["reader@example.com", "reports@sluice.example"]);
  expect(mail).toMatchObject({
    subject: email.subject,
    from: { name: "Sluice", address: "reports@sluice.example" },
    to: [{ address: "reader@example.com" }],
    messageId: "<id.1@sluice>",
  });
  expect([mail.text?.trim(), mail.html?.trim()]).toEqual([email.text, email.html]);
  expect(mail.attachments).toMatchObject([
    { mimeType: "image/png", disposition: "inline", contentId: "<chart0@sluice>" },
  ]);
  expect(raw).toContain(`List-Unsubscribe: <${email.unsubscribe}>`);
  expect(raw).toContain("List-Unsubscribe-Post: List-Unsubscribe=One-Click");
  expect(raw).toContain("Auto-Submitted: auto-generated");
});

test("no word of a subscriber becomes a header", async () => {
  const mail = mailTo(sink.url);
  await mail.send({
    ...email,
    subject: "one\r\nBcc: other@example.com\r\n\r\nbody",
    id: "id.2\r\nX-Forged: 1@sluice",
  });
  const { raw, mail: parsed } = sink.received.at(-1)!;
  const head = raw.slice(0, raw.indexOf("\r\n\r\n"));
  expect(head).not.toMatch(/^(Bcc|X-Forged):/im);
  expect(parsed.headers.map(({ key }) => key)).not.toContain("bcc");
  const failure = await failureOf(mail.send({ ...email, to: "a@example.com\r\nRCPT TO:<b@example.com>" }));
  expect([failure.fate, failure.blame]).toEqual(["refused", "target"]);
});

test("an encoded word of a subscriber is shown as written, and not decoded", async () => {
  const subject = "=?utf-8?Q?a=0D=0ABcc:_other@example.com?= b";
  await mailTo(sink.url).send({ ...email, subject });
  expect(sink.received.at(-1)!.mail.subject).toBe(subject.replaceAll("=?", "= ?"));
});

test("letters that follow each other share a connection", async () => {
  const before = sink.connections;
  const mail = mailTo(sink.url);
  for (let i = 0; i < 5; i++) await mail.send({ ...email, id: `many.${i}@sluice` });
  expect(sink.connections - before).toBe(1);
});

test.each([
  ["rcpt 550 No such user", "refused", "target"],
  ["rcpt 450 Mailbox busy", "again", "target"],
  ["data 554 Spam", "refused", "target"],
  ["data 451 Try later", "again", "target"],
] as const)("%s: %s", async (refusal, fate, blame) => {
  sink.refusals.push(refusal);
  const before = sink.received.length;
  const failure = await failureOf(mailTo(sink.url).send(email));
  expect([failure.fate, failure.blame]).toEqual([fate, blame]);
  expect(failure.message).toContain(refusal.split(" ").slice(2).join(" "));
  expect(sink.received).toHaveLength(before);
});

test("a wrong password is the server's matter, and may be set right", async () => {
  const strict = await openMailSink({
    disabledCommands: ["STARTTLS"],
    authOptional: false,
    onAuth: ({ username, password }, _session, done) =>
      username === "us" && password === "p@ss"
        ? done(null, { user: "us" })
        : done(Object.assign(new Error("Wrong password"), { responseCode: 535 })),
  });
  const failure = await failureOf(mailTo(`smtp://us:wrong@127.0.0.1:${strict.port}`).send(email));
  expect([failure.fate, failure.blame]).toEqual(["again", "server"]);
  expect(failure.message).toContain("535");
  expect(failure.message).not.toContain("wrong@");
  await mailTo(`smtp://us:p%40ss@127.0.0.1:${strict.port}`).send(email);
  expect(strict.received).toHaveLength(1);
});

test("a mail server that repeats its login is not repeated", async () => {
  const plain = Buffer.from("\0owner@ours\0p@ss-word").toString("base64");
  const strict = await openMailSink({
    disabledCommands: ["STARTTLS"],
    authOptional: false,
    onAuth: ({ username, password }, _session, done) => {
      const said = `${username} may not use ${password} (${plain})`;
      done(Object.assign(new Error(said), { responseCode: 535 }));
    },
  });
  const failure = await failureOf(
    mailTo(`smtp://owner%40ours:p%40ss-word@127.0.0.1:${strict.port}`).send(email),
  );
  expect([failure.fate, failure.blame]).toEqual(["again", "server"]);
  expect(failure.message).toContain("535 [hidden] may not use [hidden]");
  expect(failure.message).not.toMatch(/owner@|p@ss/);
  expect(failure.message).not.toContain(plain.slice(4, -4));
});

test("over TLS, though this machine's certificate proves nothing", async () => {
  const encrypted = await openMailSink({ disabledCommands: ["AUTH"] });
  await mailTo(encrypted.url).send(email);
  const whole = await openMailSink({ disabledCommands: ["AUTH"], secure: true });
  await mailTo(`smtps://localhost:${whole.port}`).send(email);
  expect([encrypted.received.length, whole.received.length]).toEqual([1, 1]);
});

test("a server that is down certainly took nothing", async () => {
  const gone = await openMailSink();
  await gone.close();
  const failure = await failureOf(mailTo(gone.url).send(email));
  expect([failure.fate, failure.blame]).toEqual(["again", "server"]);
});

test("a connection the server has closed meanwhile is made anew, with nothing lost or doubled", async () => {
  const first = await openMailSink();
  const mail = mailTo(first.url);
  await mail.send(email);
  await first.close();
  const second = await openMailSink({}, first.port);
  await mail.send(email);
  expect([first.received.length, second.received.length]).toEqual([1, 1]);
});

test("a server that dies before it answers a whole letter leaves it in doubt", async () => {
  // Says yes to everything, and hangs up when the email has ended.
  const server = createServer((socket) => {
    socket.write("220 here\r\n");
    let letterBegun = false;
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      const said = chunk.toString();
      if (letterBegun) {
        if (said.includes("\r\n.\r\n")) socket.destroy();
        return;
      }
      letterBegun = said.startsWith("DATA");
      socket.write(letterBegun ? "354 go on\r\n" : "250 yes\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  later(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const failure = await failureOf(mailTo(`smtp://127.0.0.1:${port}`).send(email));
  expect([failure.fate, failure.blame]).toEqual(["doubt", "server"]);
  expect(failure.message).toContain("it is not sent again");
});

test("without SMTP_URL or EMAIL_FROM it says which is missing", async () => {
  expect((await failureOf(mailTo(undefined).send(email))).message).toContain("SMTP_URL is not set");
  const nameless = openMail({ smtpUrl: sink.url, from: undefined });
  expect((await failureOf(nameless.send(email))).message).toContain("EMAIL_FROM is not set");
  expect((await failureOf(mailTo(sink.url, "nobody").send(email))).fate).toBe("refused");
});

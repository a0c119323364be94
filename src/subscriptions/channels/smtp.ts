// Emails by SMTP; the only file that knows the mail library. An email is not sent twice: a failure after its first
// byte is in doubt, so the library's own pool, which would send it again, is not used.

import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import { parseConnectionUrl } from "nodemailer/lib/shared";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { withinMs } from "../../core/clock.ts";
import { foreignText, secretsInUrl } from "../../core/foreign_text.ts";
import { toReason } from "../../core/log.ts";
import { subscriptionLimits } from "../limits.ts";
import { isAddress } from "./address_list.ts";
import { DeliveryError } from "./delivery_error.ts";

export interface Email {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The HTML refers to each as `cid:<cid>`. */
  pictures: { cid: string; png: Uint8Array }[];
  /** The Message-ID: the same in every attempt, so that mail servers recognize duplicates. */
  id: string;
  unsubscribe: string;
}

export type Mail = ReturnType<typeof openMail>;

/**
 * @param smtpUrl smtp:// or smtps://, with user and password; undefined when there is no server.
 * @param from the sender: an address, or a name and an address.
 */
export function openMail({ smtpUrl, from }: { smtpUrl: string | undefined; from: string | undefined }) {
  const idle: SMTPConnection[] = [];
  const options = smtpUrl === undefined ? undefined : parseOptions(smtpUrl);
  return {
    /** Resolves when the mail server has accepted the email. @throws DeliveryError */
    send: async (email: Email) => {
      if (options === undefined) throw unset("SMTP_URL");
      if (from === undefined) throw unset("EMAIL_FROM");
      const { message, sender } = await compose(email, from);
      const used = idle.pop();
      try {
        if (used && (await transmit(used, idle, message, sender, email.to, true)) === "sent") return;
        await transmit(await connect(options), idle, message, sender, email.to, false);
      } catch (thrown) {
        throw withoutLogin(thrown, options, smtpUrl ?? "");
      }
    },
    close: () => {
      for (const connection of idle.splice(0)) connection.close();
    },
  };
}

/** The error without the user and the password, which the mail server may have repeated. */
function withoutLogin(thrown: unknown, { auth }: ConnectionOptions, smtpUrl: string): unknown {
  if (!(thrown instanceof DeliveryError)) return thrown;
  const secrets = [auth?.user ?? "", auth?.pass ?? "", ...secretsInUrl(smtpUrl)];
  const message = foreignText(thrown.message, {
    secrets,
    charsMax: subscriptionLimits.deliveryErrorCharsMax,
  });
  return new DeliveryError(message, thrown.fate, thrown.blame);
}

function unset(name: string): DeliveryError {
  const detail = `This server cannot send e-mail: ${name} is not set. Set it and start the server again.`;
  return new DeliveryError(detail, "refused", "server");
}

type ConnectionOptions = ConstructorParameters<typeof SMTPConnection>[0] & {
  auth?: { user: string; pass: string };
};

function parseOptions(smtpUrl: string): ConnectionOptions {
  const parsed = parseConnectionUrl(smtpUrl) as ConnectionOptions;
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(parsed?.host ?? "");
  return {
    // Mail servers on the same machine usually have no valid certificate, and need none.
    ...(isLoopback && { tls: { rejectUnauthorized: false } }),
    ...parsed,
    connectionTimeout: subscriptionLimits.smtpConnectMsMax,
    greetingTimeout: subscriptionLimits.smtpConnectMsMax,
    dnsTimeout: subscriptionLimits.smtpConnectMsMax,
    socketTimeout: subscriptionLimits.smtpSilenceMsMax,
  };
}

async function compose(email: Email, from: string): Promise<{ message: Buffer; sender: string }> {
  if (!isAddress(email.to))
    throw new DeliveryError(`"${email.to}" is not an e-mail address.`, "refused", "target");
  const composer = new MailComposer({
    from,
    to: { name: "", address: email.to },
    // An encoded word of a user's would be decoded, line breaks too.
    subject: email.subject.replaceAll("=?", "= ?"),
    text: email.text,
    html: email.html,
    messageId: `<${email.id}>`,
    headers: {
      "Auto-Submitted": "auto-generated",
      "List-Unsubscribe": { prepared: true, value: `<${email.unsubscribe}>` },
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    },
    attachments: email.pictures.map(({ cid, png }, i) => ({
      filename: `chart-${i + 1}.png`,
      content: Buffer.from(png),
      contentType: "image/png",
      contentDisposition: "inline" as const,
      cid,
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const node = composer.compile();
  const sender = node.getEnvelope().from;
  if (typeof sender !== "string" || sender === "")
    throw new DeliveryError("EMAIL_FROM contains no e-mail address.", "refused", "server");
  return { message: await node.build(), sender };
}

/** @throws DeliveryError `again`: nothing was sent yet. */
async function connect(options: ConnectionOptions): Promise<SMTPConnection> {
  const connection = new SMTPConnection(options);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  connection.on("error", reject);
  connection.connect((failed) => {
    if (failed) return reject(failed);
    if (!options.auth) return resolve();
    connection.login(options.auth, (refused) => (refused ? reject(refused) : resolve()));
  });
  try {
    await withinMs(promise, 2 * subscriptionLimits.smtpConnectMsMax);
    return connection;
  } catch (thrown) {
    connection.close();
    throw new DeliveryError(`The mail server cannot be used: ${toReason(thrown)}`, "again", "server");
  }
}

/**
 * Sends one email over the connection. `gone`: an idle connection had been closed before it accepted anything.
 * @throws DeliveryError
 */
async function transmit(
  connection: SMTPConnection,
  idle: SMTPConnection[],
  message: Buffer,
  from: string,
  to: string,
  used: boolean,
): Promise<"sent" | "gone"> {
  let begun = false;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Read only after the server has accepted the envelope.
  const read = function* () {
    begun = true;
    yield message;
  };
  const stream = Readable.from(read(), { objectMode: false });
  connection.removeAllListeners("error");
  connection.on("error", reject);
  connection.on("end", () => reject(new Error("the connection was closed")));
  connection.send({ from, to: [to], size: message.length }, stream, (failed) =>
    failed ? reject(failed) : resolve(),
  );
  try {
    await withinMs(promise, subscriptionLimits.smtpSendMsMax);
  } catch (thrown) {
    connection.close();
    if (used && !begun && readReplyCode(thrown) === undefined) return "gone";
    throw deliveryError(thrown, begun);
  }
  connection.removeAllListeners("end");
  retainIdle(connection, idle);
  return "sent";
}

function retainIdle(connection: SMTPConnection, idle: SMTPConnection[]): void {
  const drop = (): void => {
    const index = idle.indexOf(connection);
    if (index >= 0) idle.splice(index, 1);
  };
  connection.removeAllListeners("error");
  connection.on("error", drop);
  connection.once("end", drop);
  idle.push(connection);
  setTimeout(() => {
    if (!idle.includes(connection)) return;
    drop();
    connection.quit();
  }, subscriptionLimits.smtpIdleMs).unref();
}

/** The server's reply code; undefined when there was no reply. */
function readReplyCode(thrown: unknown): number | undefined {
  const code = thrown instanceof Error && "responseCode" in thrown ? thrown.responseCode : undefined;
  return typeof code === "number" && code >= 400 ? code : undefined;
}

function deliveryError(thrown: unknown, begun: boolean): DeliveryError {
  const code = readReplyCode(thrown);
  const reason = toReason(thrown);
  if (code === undefined) {
    if (!begun) return new DeliveryError(`The mail server failed: ${reason}`, "again", "server");
    const detail = `It is unknown whether the mail server accepted the email: ${reason}; it is not sent again.`;
    return new DeliveryError(detail, "doubt", "server");
  }
  const command = thrown instanceof Error && "command" in thrown ? thrown.command : undefined;
  // These are refusals of this sender, whatever the recipient.
  const blame = command === "MAIL FROM" || command === "API" ? "server" : "target";
  return new DeliveryError(`The mail server refused: ${reason}`, code >= 500 ? "refused" : "again", blame);
}

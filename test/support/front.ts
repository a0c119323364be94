// A proxy of another maker, as a page of the documents configures it, in front of a server. Never decides what passes.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";
import { until } from "./server.ts";

export const frontHost = "analytics.example.com";

/** Why these tests cannot run here; undefined when they can. */
export function missingForFronts(): string | undefined {
  return ["nginx", "caddy", "haproxy", "curl", "openssl"].find((tool) => Bun.which(tool) === null);
}

export type Relay = Awaited<ReturnType<typeof startRelay>>;

/** Passes bytes on to a server, and shows what connections the proxy in front of it makes. */
export async function startRelay(target: string) {
  let to = new URL(target);
  const sockets = new Set<Socket>();
  let [requesting, checks] = [0, 0];
  const accept = (incoming: Socket) => {
    const outgoing = connect(Number(to.port), to.hostname);
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => void sockets.delete(socket));
    }
    incoming.once("data", (data) => {
      if (data.includes("/_readiness/capture ")) checks++;
      else requesting++;
    });
    incoming.pipe(outgoing).pipe(incoming);
    incoming.on("close", () => outgoing.destroy());
    outgoing.on("close", () => incoming.destroySoon());
  };
  let server: Server | undefined;
  let port = 0;
  const open = async (url: string) => {
    to = new URL(url);
    const opened = createServer(accept);
    await new Promise<void>((resolve) => opened.listen(port, "127.0.0.1", resolve));
    port = (opened.address() as AddressInfo).port;
    server = opened;
  };
  const close = () => {
    server?.close();
    for (const socket of sockets) socket.destroy();
  };
  await open(target);
  later(close);
  return {
    port,
    /** Refuses connections, until it is opened again for a server. */
    close,
    open,
    /** How many connections have begun with a request, without those that ask for readiness. */
    requesting: () => requesting,
    checks: () => checks,
    isIdle: () => sockets.size === 0,
  };
}

export interface Certificate {
  cert: string;
  key: string;
  /** Both in one file. */
  both: string;
}

export function makeCertificate(): Certificate {
  const folder = makeFolder();
  const [key, cert, both] = ["key.pem", "cert.pem", "both.pem"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const made = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${frontHost} -addext subjectAltName=DNS:${frontHost}`;
  spawnSync("openssl", [...made.split(" "), "-keyout", key, "-out", cert]);
  writeFileSync(both, readFileSync(cert, "utf8") + readFileSync(key, "utf8"));
  return { cert, key, both };
}

/** @throws when the page does not have what is replaced: then the test and the page differ. */
function replace(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the configuration has no ${from}`);
  return text.replaceAll(from, to);
}

interface Maker {
  command: (file: string, folder: string) => string[];
  /** What a test must change: the port to listen on and the certificate; and what an installed proxy has around it. */
  configure: (text: string, listen: number, tls: Certificate, folder: string) => string;
}

const makers: Readonly<Record<string, Maker>> = {
  nginx: {
    command: (file, folder) => ["nginx", "-c", file, "-p", folder, "-e", join(folder, "error.log")],
    configure: (text, listen, { cert, key }, folder) => {
      const own = replace(text, "listen 443 ", `listen 127.0.0.1:${listen} `);
      const site = replace(replace(own, "/etc/ssl/analytics.pem", cert), "/etc/ssl/analytics.key", key);
      const kept = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (kind) => `${kind}_temp_path ${folder};`,
      );
      return `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
        events {} http { access_log off; ${kept.join(" ")}\n${site}\n}`;
    },
  },
  caddy: {
    command: (file) => ["caddy", "run", "--adapter", "caddyfile", "--config", file],
    configure: (text, listen, { cert, key }) => {
      const site = replace(
        text,
        `${frontHost} {`,
        `${frontHost}:${listen} {\n bind 127.0.0.1\n tls ${cert} ${key}`,
      );
      return `{\n admin off\n auto_https disable_redirects\n}\n${site}`;
    },
  },
  haproxy: {
    command: (file) => ["haproxy", "-db", "-f", file],
    configure: (text, listen, { both }) =>
      replace(replace(text, "bind :443 ", `bind 127.0.0.1:${listen} `), "/etc/ssl/analytics.pem", both),
  },
};

/** A port that nobody has now. */
async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface Asked {
  status: number;
  /** 1.1 or 2. */
  version: string;
  /** Names in small letters. */
  headers: Record<string, string>;
  text: string;
}

/**
 * Starts a proxy with a configuration of the page.
 * @param upstreams which address stands for each of the page's.
 */
export async function startFront(
  maker: string,
  text: string,
  upstreams: Readonly<Record<string, number>>,
  tls: Certificate,
) {
  const { command, configure } = makers[maker]!;
  const folder = makeFolder();
  const file = join(folder, "configuration");
  let own = text;
  for (const [address, port] of Object.entries(upstreams)) own = replace(own, address, `127.0.0.1:${port}`);
  for (;;) {
    const port = await findPort();
    writeFileSync(file, `${configure(own, port, tls, folder)}\n`);
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
    };
    const child = Bun.spawn(command(file, folder), { env, stdout: "pipe", stderr: "pipe" });
    const said = new Response(child.stderr).text();
    later(() => (child.kill("SIGKILL"), child.exited));
    const front = openClient(port, tls);
    await until(async () => child.exitCode !== null || (await isListening(port)));
    if (child.exitCode === null) return front;
    // Another program has taken the port meanwhile.
    if (!/address already in use|Address already in use|cannot bind/i.test(await said))
      throw new Error(await said);
  }
}

async function isListening(port: number): Promise<boolean> {
  return await new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

export type Front = ReturnType<typeof openClient>;

/** Speaks to the proxy as curl does, which negotiates HTTP/2. */
function openClient(port: number, { cert }: Certificate) {
  const url = `https://${frontHost}:${port}`;
  const curl = ["curl", "-sS", "--cacert", cert, "--resolve", `${frontHost}:${port}:127.0.0.1`];
  const run = async (path: string, options: readonly string[]): Promise<Asked> => {
    const child = Bun.spawn([...curl, "-D", "-", ...options, `${url}${path}`], {
      stdout: "pipe",
      stderr: "pipe",
    });
    const [printed, failed] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    if ((await child.exited) !== 0) throw new Error(failed);
    // An interim answer, such as 100 Continue, comes before the final one.
    const parts = printed.split("\r\n\r\n");
    const at = parts.findIndex((part) => !/^HTTP\/\S+ 1\d\d/.test(part));
    const [first = "", ...lines] = parts[at]!.split("\r\n");
    const [, version = "", status = ""] = /^HTTP\/(\S+) (\d+)/.exec(first) ?? [];
    const headers = Object.fromEntries(
      lines.map((line) => [line.split(":")[0]!.toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
    );
    return { status: Number(status), version, headers, text: parts.slice(at + 1).join("\r\n\r\n") };
  };
  return {
    url,
    ask: run,
    /** What a stream sends, as it comes. */
    follow: (path: string, options: readonly string[]) => {
      const child = Bun.spawn([...curl, "-N", ...options, `${url}${path}`], {
        stdout: "pipe",
        stderr: "ignore",
      });
      later(() => child.kill());
      return child.stdout;
    },
    /** For clients of the test's own process. */
    fetch: async (address: string, init: RequestInit = {}) =>
      await fetch(address.replace(frontHost, "127.0.0.1"), {
        ...init,
        headers: { ...(init.headers as Record<string, string>), host: `${frontHost}:${port}` },
        tls: { ca: readFileSync(cert, "utf8"), serverName: frontHost },
      } as RequestInit),
  };
}

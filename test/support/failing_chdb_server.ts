// The embedded ClickHouse with faults on demand, as a process for tests. It prints {"control":N} before the server's own
// line: POST a fault to that port, DELETE all, or GET how many statements were struck.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { cutOff } from "../../src/storage/chdb_server/answer.ts";
import { ServerError } from "../../src/storage/chdb_server/request.ts";
import { runServer } from "../../src/storage/chdb_server/server.ts";

const faultKinds = [
  "fail_before", // answers an error; nothing is done
  "fail_after", // does it, then answers an error
  "drop_before", // closes the connection; nothing is done
  "drop_reply", // does it, then closes the connection
  "delay", // waits, then does it
  "hang", // never answers; nothing is done
  "exit_before", // the process dies; nothing is done
  "exit_after", // does it, then the process dies
] as const;
type FaultKind = (typeof faultKinds)[number];

export interface ServerFault {
  kind: FaultKind;
  /** How many statements fail. */
  times: number;
  /** Only statements that contain this text. */
  match: string;
  /** For delay: how long, in ms. */
  ms: number;
  /** For fail_*: ClickHouse's number and name. */
  code: number;
  type: string;
}

/** The fault that a test posted as JSON; undefined for an unknown kind. */
function readFault(text: string): ServerFault | undefined {
  const given: Partial<ServerFault> = JSON.parse(text);
  const kind = faultKinds.find((known) => known === given.kind);
  if (!kind) return undefined;
  const defaults = { times: 1, match: "", ms: 1000, code: 241, type: "MEMORY_LIMIT_EXCEEDED" };
  return { ...defaults, ...given, kind };
}

class Faults {
  #armed: ServerFault[] = [];
  #struck = 0;

  arm(fault: ServerFault): void {
    this.#armed.push(fault);
  }

  clear(): void {
    this.#armed = [];
  }

  /** How many statements have failed so far. */
  get struck(): number {
    return this.#struck;
  }

  /** The fault for this statement, if any; it is used up once. */
  strike(text: string): ServerFault | undefined {
    const fault = this.#armed.find(({ match, times }) => times > 0 && text.includes(match));
    if (!fault) return undefined;
    this.#struck++;
    fault.times--;
    this.#armed = this.#armed.filter(({ times }) => times > 0);
    return fault;
  }
}

/** False when the statement must not run. */
async function strikeBefore(
  { kind, ms, code, type }: ServerFault,
  response: ServerResponse,
): Promise<boolean> {
  if (kind === "fail_before") throw new ServerError(code, type, "a requested fault");
  if (kind === "exit_before") process.kill(process.pid, "SIGKILL");
  if (kind === "drop_before") cutOff(response);
  if (kind === "delay") await Bun.sleep(ms);
  return kind !== "hang" && kind !== "drop_before";
}

/** False when the answer must not be sent. */
function strikeAfter({ kind, code, type }: ServerFault, response: ServerResponse): boolean {
  if (kind === "fail_after") throw new ServerError(code, type, "a requested fault");
  if (kind === "exit_after") process.kill(process.pid, "SIGKILL");
  if (kind !== "drop_reply") return true;
  cutOff(response);
  return false;
}

async function control(faults: Faults, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "DELETE") faults.clear();
  if (request.method === "POST") {
    const fault = readFault(await text(request));
    if (fault) faults.arm(fault);
    else response.statusCode = 400;
  }
  response.end(JSON.stringify({ struck: faults.struck }));
}

if (import.meta.main) {
  const faults = new Faults();
  const controls = createServer((request, response) => void control(faults, request, response));
  await new Promise<void>((resolve) => controls.listen(0, "127.0.0.1", () => resolve()));
  controls.unref();
  process.stdout.write(`${JSON.stringify({ control: (controls.address() as AddressInfo).port })}\n`);
  await runServer(async (statement, response) => {
    const fault = faults.strike(statement);
    if (!fault) return () => true;
    return (await strikeBefore(fault, response)) ? () => strikeAfter(fault, response) : undefined;
  });
}

// Faults on demand, for tests that need a ClickHouse that fails. Switched on by a flag at start; never active
// otherwise.

export const faultKinds = [
  "fail_before", // answers an error; nothing is done
  "fail_after", // does it, then answers an error
  "drop_before", // closes the connection; nothing is done
  "drop_reply", // does it, then closes the connection
  "delay", // waits, then does it
  "hang", // never answers; nothing is done
  "exit_before", // the process dies; nothing is done
  "exit_after", // does it, then the process dies
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface ServerFault {
  kind: FaultKind;
  /** How many statements it strikes. */
  times: number;
  /** Only statements that contain this text. */
  match: string;
  /** For delay: how long, in ms. */
  ms: number;
  /** For fail_*: ClickHouse's number and name. */
  code: number;
  type: string;
}

/** What a test posted as JSON; undefined when it makes no sense. */
export function readFault(text: string): ServerFault | undefined {
  const given: Partial<ServerFault> = JSON.parse(text);
  const kind = faultKinds.find((known) => known === given.kind);
  if (!kind) return undefined;
  const defaults = { times: 1, match: "", ms: 1000, code: 241, type: "MEMORY_LIMIT_EXCEEDED" };
  return { ...defaults, ...given, kind };
}

export class Faults {
  #armed: ServerFault[] = [];
  #struck = 0;

  arm(fault: ServerFault): void {
    this.#armed.push(fault);
  }

  clear(): void {
    this.#armed = [];
  }

  /** How many statements were struck so far. */
  get struck(): number {
    return this.#struck;
  }

  /** The fault that strikes this statement, used up once. */
  strike(text: string): ServerFault | undefined {
    const fault = this.#armed.find(({ match, times }) => times > 0 && text.includes(match));
    if (!fault) return undefined;
    this.#struck++;
    fault.times--;
    this.#armed = this.#armed.filter(({ times }) => times > 0);
    return fault;
  }
}

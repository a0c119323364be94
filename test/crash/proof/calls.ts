// strace in front of the server: it is killed at the Nth call of each kind that the journal makes, or the call fails, or
// is slow. strace counts the calls of each thread from the start of the process, so that low numbers meet the recovery
// of the kill before, and higher ones groups, seals, flushes and the files that are recycled.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { makeFolder } from "../../support/folder.ts";
import { storeAll } from "./kills.ts";
import type { ProofLedger } from "./ledger.ts";
import type { Place, Running } from "./place.ts";
import { sendOnce } from "./sender.ts";

/** Everything by which the journal changes what is on the disk. */
const kinds = [
  "pwritev",
  "fdatasync",
  "fsync",
  "write",
  "pwrite64",
  "rename",
  "unlink",
  "link",
  "ftruncate",
] as const;
type Kind = (typeof kinds)[number];

/** `write` is also how the process logs and wakes its threads: only these files count. */
const namedFiles = [
  "ledger",
  "ledger.part",
  "synced",
  "identity.json.part",
  "identity.copy.json.part",
  "keys.json.fresh",
  "check.part",
];

export interface CallsResult {
  cycles: number;
  /** How often each call on each kind of file was struck. */
  struck: Map<string, number>;
  /** Where strace writes. */
  trace: string;
}

/** Whether strace is installed and may trace: in some containers it may not. */
export function canTrace(): boolean {
  if (Bun.which("strace") === null) return false;
  const tried = Bun.spawnSync(["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=rename", "true"]);
  return tried.exitCode === 0;
}

/** One kind of fault, as strace writes it. */
export interface Strike {
  kind: Kind;
  /** `signal=KILL`, `error=EIO` … */
  fault: string;
  /** `3`: the third call; `3+`: from the third on. */
  when: string;
}

/**
 * All kinds at their first, second … call, up to `perKind`, or until no thread makes as many calls.
 */
export async function killAtCalls(place: Place, ledger: ProofLedger, perKind: number): Promise<CallsResult> {
  const result: CallsResult = { cycles: 0, struck: new Map(), trace: `${makeFolder()}/trace` };
  // A journal must be there: the first start is another way through the code.
  await storeAll(place);
  for (const kind of kinds) {
    for (let nth = 1, survived = 0; nth <= perKind && survived < 2; nth++) {
      const isDead = await strike(place, ledger, { kind, fault: "signal=KILL", when: String(nth) }, result);
      survived = isDead ? 0 : survived + 1;
    }
  }
  await storeAll(place);
  return result;
}

/** Errors once, and for good; a disk that takes no byte; syncs that take long. */
export async function failCalls(place: Place, ledger: ProofLedger, isLong: boolean): Promise<CallsResult> {
  const result: CallsResult = { cycles: 0, struck: new Map(), trace: `${makeFolder()}/trace` };
  await storeAll(place);
  const times = isLong ? [1, 2, 3, 4, 5, 7, 10, 15, 20] : [2, 6];
  const strikes: Strike[] = [];
  for (const kind of kinds) {
    // There is no such call without damage, and what else is cut by one.
    if (kind === "link") continue;
    for (const fault of ["error=EIO", "error=ENOSPC"]) {
      for (const nth of times) strikes.push({ kind, fault, when: String(nth) });
      if (isLong) strikes.push({ kind, fault, when: "8+" });
    }
  }
  for (const nth of times) {
    strikes.push({ kind: "pwritev", fault: "retval=0", when: String(nth) });
    strikes.push({ kind: "fdatasync", fault: "delay_exit=300000", when: `${nth}+` });
  }
  for (const one of strikes) await strike(place, ledger, one, result);
  await storeAll(place);
  return result;
}

/** One life of the server under strace. Whether it ended by itself. */
async function strike(
  place: Place,
  ledger: ProofLedger,
  { kind, fault, when }: Strike,
  result: CallsResult,
): Promise<boolean> {
  const { trace } = result;
  const folder = `${place.dataDir}/journal`;
  const paths = kind === "write" ? namedFiles.flatMap((name) => ["-P", `${folder}/${name}`]) : [];
  const inject = `inject=${kind}:${fault}:when=${when}`;
  const options = ["-D", "-f", "-y", "-qq", "--seccomp-bpf", "-o", trace];
  const only = [...paths, "-e", `trace=${kind}`, "-e", inject];
  const server = place.start({ prefix: ["strace", ...options, ...only] });
  const isDead = await live(server, ledger);
  server.kill();
  await server.exited;
  result.cycles++;
  noteStruck(trace, kind, fault, result.struck);
  return isDead;
}

/** A little of everything: short requests, imports, a segment that is long enough to be recycled. */
async function live(server: Running, ledger: ProofLedger): Promise<boolean> {
  const url = await server.url;
  if (url === undefined) return true;
  for (let turn = 0; turn < 4; turn++) {
    const replies = await Promise.all([
      sendOnce(url, ledger, { batch: 1 }),
      sendOnce(url, ledger, { batch: 40, historical: true }),
      sendOnce(url, ledger, { batch: turn === 1 ? 4000 : 100 }),
    ]);
    if (replies.includes(undefined)) return true;
    // Segments are sealed by age.
    await Bun.sleep(60);
  }
  await Bun.sleep(120);
  let isDead = false;
  void server.exited.then(() => (isDead = true));
  await Bun.sleep(1);
  return isDead;
}

/** The traced line of the struck call: for a kill the last one, otherwise it says so. */
function noteStruck(trace: string, kind: Kind, fault: string, struck: Map<string, number>): void {
  if (!existsSync(trace)) return;
  const lines = readFileSync(trace, "latin1").split("\n");
  rmSync(trace);
  const calls = lines.filter((line) => line.includes(` ${kind}(`));
  const injected = calls.filter((line) => line.includes("INJECTED") || line.includes("DELAYED"));
  const wasKilled = fault.startsWith("signal") && lines.some((line) => line.includes("killed by SIGKILL"));
  const hits = wasKilled ? calls.slice(-1) : injected;
  for (const line of hits) {
    const file = fileKind(line);
    if (file === undefined) continue;
    const name = `${kind} ${file}`;
    struck.set(name, (struck.get(name) ?? 0) + 1);
  }
}

/** The kind of a journal's file that a line is about; undefined for another file. */
function fileKind(line: string): string | undefined {
  if (/\/journal>/.test(line)) return "folder";
  const [, name] = /\/journal\/([\w.-]+)/.exec(line) ?? [];
  return name?.replace(/[0-9a-f]{16}/g, "ID");
}

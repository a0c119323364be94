// strace in front of the server: it is killed at the Nth call of each kind that the journal makes, or the call fails, or
// is slow. strace counts the calls of each thread from the start of the process, so that low numbers meet the recovery
// of the kill before, and higher ones groups, seals, flushes and the files that are recycled.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { makeFolder } from "../../support/folder.ts";
import { storeAll } from "./kills.ts";
import type { ProofLedger } from "./ledger.ts";
import { metricOf, type Place, type Running } from "./place.ts";
import type { Progress } from "./progress.ts";
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

/** Written by a start: they would be the first ones of each thread that strace meets. */
const startFiles = ["identity.json.part", "keys.json.fresh", "check.part"];
const ledgerFiles = ["ledger", "ledger.part", "synced.part"];

/** What is struck: a call, of certain files if told. */
interface Target {
  kind: Kind;
  files?: readonly string[];
}

/** `write` is also how the process logs and wakes its threads: only files that are named count. */
const targets: readonly Target[] = kinds.flatMap((kind): Target[] =>
  kind === "write" ? [startFiles, ledgerFiles].map((files) => ({ kind, files })) : [{ kind }],
);

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
export interface Strike extends Target {
  /** `signal=KILL`, `error=EIO` … */
  fault: string;
  /** `3`: the third call; `3+`: from the third on. */
  when: string;
}

/** All targets at their first call, then at their second … up to `times`, or until no thread makes as many calls. */
export async function killAtCalls(
  place: Place,
  ledger: ProofLedger,
  times: number,
  progress: Progress,
): Promise<CallsResult> {
  const result: CallsResult = { cycles: 0, struck: new Map(), trace: `${makeFolder()}/trace` };
  // A journal must be there: the first start is another way through the code.
  await storeAll(place);
  /** Targets with the lives that their calls have left alone, one after the other. */
  const left = new Map(targets.map((target) => [target, 0]));
  for (let nth = 1; nth <= times; nth++) {
    for (const [target, survived] of left) {
      if (progress.isOver()) break;
      progress.tell(`${result.cycles} cycles, call ${nth} of each kind`);
      const one = { ...target, fault: "signal=KILL", when: String(nth) };
      const isDead = await strike(place, ledger, one, result);
      if (!isDead && survived === 1) left.delete(target);
      else left.set(target, isDead ? 0 : survived + 1);
    }
  }
  await storeAll(place);
  return result;
}

/** Errors once, and for good; a disk that takes no byte; syncs that take long. */
export async function failCalls(
  place: Place,
  ledger: ProofLedger,
  isLong: boolean,
  progress: Progress,
): Promise<CallsResult> {
  const result: CallsResult = { cycles: 0, struck: new Map(), trace: `${makeFolder()}/trace` };
  await storeAll(place);
  const times = isLong ? [1, 2, 3, 4, 5, 7, 10, 15, 20] : [2, 6];
  const strikes: Strike[] = [];
  for (const target of targets) {
    // There is no such call without damage, and what else is cut by one.
    if (target.kind === "link") continue;
    for (const fault of ["error=EIO", "error=ENOSPC"]) {
      for (const nth of times) strikes.push({ ...target, fault, when: String(nth) });
      if (isLong) strikes.push({ ...target, fault, when: "8+" });
    }
  }
  for (const nth of times) {
    strikes.push({ kind: "pwritev", fault: "retval=0", when: String(nth) });
    strikes.push({ kind: "fdatasync", fault: "delay_exit=300000", when: `${nth}+` });
  }
  for (const one of strikes) {
    if (progress.isOver()) break;
    progress.tell(`${result.cycles} of ${strikes.length} cycles`);
    await strike(place, ledger, one, result);
  }
  await storeAll(place);
  return result;
}

/** One life of the server under strace. Whether it ended by itself. */
async function strike(
  place: Place,
  ledger: ProofLedger,
  { kind, files = [], fault, when }: Strike,
  result: CallsResult,
): Promise<boolean> {
  const { trace } = result;
  const folder = `${place.dataDir}/journal`;
  const paths = files.flatMap((name) => ["-P", `${folder}/${name}`]);
  const inject = `inject=${kind}:${fault}:when=${when}`;
  // Of calls that no filter lets pass at once strace sends no signal, though it lets them fail.
  const fast = fault.startsWith("signal") ? [] : ["--seccomp-bpf"];
  const options = ["-D", "-f", "-y", "-qq", ...fast, "-o", trace];
  const only = [...paths, "-e", `trace=${kind}`, "-e", inject];
  const server = place.start({ prefix: ["strace", ...options, ...only] });
  const isDead = await live(server, ledger);
  server.kill();
  await server.exited;
  result.cycles++;
  noteStruck(trace, kind, isDead, result.struck);
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
  return !(await isCleared(url));
}

/** How long a life waits for its segments to be stored and removed, in ms. */
const clearedMsMax = 3000;

/** Waits until everything is stored and derived, so that files are removed or kept for later. False: the server is gone. */
async function isCleared(url: string): Promise<boolean> {
  const since = performance.now();
  try {
    while (performance.now() - since < clearedMsMax) {
      const stored = (await metricOf(url, "sluice_journal_pending_events")) === 0;
      if (stored && (await metricOf(url, "sluice_sessions_pending_events")) === 0) break;
      await Bun.sleep(20);
    }
    // What is left is removed a moment later.
    await Bun.sleep(100);
    await metricOf(url, "sluice_journal_pending_events");
    return true;
  } catch {
    return false;
  }
}

/** The traced line of the struck call: where it killed the server the last one, otherwise it says so. */
function noteStruck(trace: string, kind: Kind, isDead: boolean, struck: Map<string, number>): void {
  if (!existsSync(trace)) return;
  const lines = readFileSync(trace, "latin1").split("\n");
  rmSync(trace);
  const calls = lines.filter((line) => line.includes(` ${kind}(`));
  const injected = calls.filter((line) => line.includes("INJECTED") || line.includes("DELAYED"));
  const hits = isDead && injected.length === 0 ? calls.slice(-1) : injected;
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

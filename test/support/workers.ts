// Servers of several workers: which processes they are, requests that reach all of them, and which journal took what.

import { readdirSync, readFileSync } from "node:fs";
import { metric, post, type Server, until } from "./server.ts";

/** The processes of a server's workers but the first. */
export function workersOf(server: Pick<Server, "pid">): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isWorkerOf(name, server.pid))
    .map(Number);
}

function isWorkerOf(process: string, parent: number): boolean {
  try {
    const stat = readFileSync(`/proc/${process}/stat`, "utf8");
    const ppid = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    return ppid === parent && readFileSync(`/proc/${process}/cmdline`, "utf8").includes("workers/worker.ts");
  } catch {
    return false;
  }
}

export function isAlive(pid: number): boolean {
  try {
    // One that ended and was not waited for yet is none any more.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Resolves when so many workers serve. */
export async function serving(server: Server, workers: number): Promise<void> {
  await until(async () => (await workersServing(server)) === workers);
}

/** How many workers serve; undefined if the request went to a worker that is killed meanwhile. */
export async function workersServing(server: Server): Promise<number | undefined> {
  return await metric(server, "sluice_workers").catch(() => undefined);
}

/** On a connection of its own, which the system gives to any of the workers. */
export async function postAnew(server: Server, path: string, body: unknown): Promise<Response> {
  return await post(server, path, body, { connection: "close" });
}

/** Segments of events that wait in a journal's folder. */
export function waitingIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => /^(live|historical)-.*\.segment$/.test(name));
}

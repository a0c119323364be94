// A small disk of a test's own, where the system lets us mount one.

import { mkdirSync } from "node:fs";
import { later } from "./cleanup.ts";
import { makeFolder } from "./folder.ts";

function mount(folder: string, megabytes: number): boolean {
  if (process.platform !== "linux") return false;
  const options = `size=${megabytes}m,mode=700`;
  const run = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], { stderr: "ignore" });
  return run.success;
}

/** Takes it away although a process may still be in it. */
function unmount(folder: string): void {
  Bun.spawnSync(["umount", "-l", folder], { stderr: "ignore" });
}

/** Whether disks can be mounted; says so when not. */
export const canMount = ((): boolean => {
  const folder = `${makeFolder()}/probe`;
  mkdirSync(folder);
  const can = mount(folder, 1);
  if (can) unmount(folder);
  else process.stderr.write("tests on a full disk are skipped: no tmpfs may be mounted here\n");
  return can;
})();

/** The folder of a disk of so many megabytes; gone with the test file. */
export function makeDisk(megabytes: number): string {
  const folder = `${makeFolder()}/disk`;
  mkdirSync(folder);
  if (!mount(folder, megabytes)) throw new Error("the disk was not mounted");
  later(() => unmount(folder));
  return folder;
}

// The simulation of journal, flush and read-back (simulation/) holds for some seeds, and finds bugs that are planted in
// the server's text. `bun run proof` simulates 2,000 seeds.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { plants } from "./simulation/plants.ts";

const run = join(import.meta.dir, "simulation/run.ts");

async function simulate(args: string[]): Promise<{ isSound: boolean; text: string }> {
  const child = Bun.spawn([process.execPath, run, ...args], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { isSound: (await child.exited) === 0, text: out + err };
}

test("what is acknowledged is stored once, on 100 simulated machines", async () => {
  const { isSound, text } = await simulate(["--seeds", "100"]);
  expect(text).toMatch(/^seeds 100 · broken 0 · /m);
  expect(isSound).toBe(true);
});

/** Where the search for a bug that few seeds find begins: at one that found it. Of a changed server a later one may. */
const firstSeeds: Record<string, string> = {
  "numbers of halves forgotten": "35",
  "what a kill left is not synced": "38",
  "file removed before its note lasts": "188",
  "numbers that go back": "291",
  "ledger that goes on behind a torn line": "393",
};

for (const name of Object.keys(plants)) {
  test(`a planted bug is found: ${name}`, async () => {
    const seeds = ["--seeds", "5000", "--from", firstSeeds[name] ?? "1"];
    const { isSound, text } = await simulate([...seeds, "--until-found", "--plant", name]);
    expect(text).toMatch(/^seeds \d+ · broken 1 · /m);
    expect(isSound).toBe(false);
  });
}

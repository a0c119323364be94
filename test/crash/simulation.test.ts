// The simulation of journal, flush and read-back (simulation/) holds for some seeds, and finds bugs that are planted in
// the server's text. `bun run proof` simulates 4,000 seeds.

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

test("what is acknowledged is stored once, on 300 simulated machines", async () => {
  const { isSound, text } = await simulate(["--seeds", "300"]);
  expect(text).toMatch(/^seeds 300 · broken 0 · /m);
  expect(isSound).toBe(true);
});

for (const name of Object.keys(plants)) {
  test(`a planted bug is found: ${name}`, async () => {
    const { isSound, text } = await simulate(["--seeds", "5000", "--until-found", "--plant", name]);
    expect(text).toMatch(/^seeds \d+ · broken 1 · /m);
    expect(isSound).toBe(false);
  });
}

// The walks of src/README.md are what requests and runs do: each file of them exists, and each is passed.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const readme = readFileSync(join(root, "src/README.md"), "utf8");

interface Walk {
  files: string[];
  /** How many the text says there are. */
  told: number;
}

function walkUnder(heading: string): Walk {
  const from = readme.indexOf(`\n### ${heading}\n`);
  const section = readme.slice(from + 1, readme.indexOf("\n##", from + 1));
  const files = [...section.matchAll(/`([a-z]\w*(?:\/\w+)*\.ts)`/g)].map(([, file]) => `src/${file}`);
  return { files, told: Number(/(\d+) files today/.exec(section)?.[1]) };
}

const walks = {
  body: walkUnder("A 5 MB /batch"),
  read: walkUnder("A management read"),
  run: walkUnder("An hourly export run"),
};

/** Lower them when a walk gets shorter. The goals are 25, 14 and 12. */
const filesMax = { body: 26, read: 14, run: 12 };

test("each file of the walks exists, is named once and is counted", () => {
  for (const [name, { files, told }] of Object.entries(walks)) {
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(files.toSorted()).toEqual([...new Set(files)].toSorted());
    expect(files.length).toBe(told);
    expect(files.length).toBeLessThanOrEqual(filesMax[name as keyof typeof filesMax]);
  }
});

/** What a program of test/support prints that notes which files it passes. */
async function passedBy(name: string): Promise<unknown> {
  const program = ["--preload", "./test/support/trace.ts", `test/support/${name}.ts`];
  const child = Bun.spawn([process.execPath, ...program], { cwd: root, stdout: "pipe", stderr: "pipe" });
  const [printed, said] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ code: await child.exited, said }).toEqual({ code: 0, said: "" });
  return JSON.parse(printed);
}

test("the walks list the files that a request passes, and no others", async () => {
  const passed = (await passedBy("traced_requests")) as Record<"body" | "read", string[]>;
  expect(walks.body.files.toSorted()).toEqual(passed.body.toSorted());
  expect(walks.read.files.toSorted()).toEqual(passed.read.toSorted());
});

test("the walk of an export lists the files of its room that a run passes, and no others", async () => {
  const passed = (await passedBy("traced_export")) as string[];
  const own = passed.filter((file) => file.startsWith("src/batch_exports/"));
  expect(walks.run.files.toSorted()).toEqual(own.toSorted());
});

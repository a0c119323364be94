// The S3 server of the benches, in a process of its own: beside the sender's clock it would delay what is measured.
// Takes a folder and the name of a bucket; prints its port; ends with its standard input.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

const [directory = "", bucket = ""] = process.argv.slice(2);
mkdirSync(join(directory, bucket), { recursive: true });
const { default: S3rver } = (await import("@20minutes/s3rver" as string)) as {
  default: new (options: Record<string, unknown>) => { run(): Promise<{ port: number }> };
};
const { port } = await new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory }).run();
process.stdout.write(`${port}\n`);
await Bun.stdin.text();
process.exit(0);

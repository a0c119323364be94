// Clients that openapi-generator makes of the document that a running server serves: each is generated, compiled and used
// to save an insight, list insights and persons, create a batch export and ask for trends.
//
// Always: python by the older version, the two for TypeScript by the newer. With SLUICE_SDKS=all (`bun run test:long`)
// each by both, and go, whose compilation takes a minute of CPU. What cannot be had on a machine is skipped, and the
// test's name says what is missing. Clients of openapi-typescript and openapi-python-client: ../http/docs/clients.test.ts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { moverTest } from "../support/movers.ts";
import { type Kit, npmInstall, pipInstall, readyKit, run } from "../support/sdks.ts";
import { personalKey, post, projectKey, rested, type Server, startServer } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const msMax = 900_000;
const versions = ["7.12.0", "7.23.0"] as const;
const mavenCopy = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy";

function jar(version: string): Kit {
  const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${version}`;
  return {
    files: [],
    tools: ["java", "mvn"],
    install: ["mvn", "--quiet", "--batch-mode", mavenCopy, artifact, "-DoutputDirectory=."],
  };
}

interface Client {
  generator: string;
  /** What api.md tells to say to the generator. */
  properties?: string;
  options?: readonly string[];
  /** What its programs need beside it, put into the kit's folder. */
  kit: Kit;
  /** The program, and where it stands below the folder of the generated client's. */
  program: readonly [file: string, place: string];
  /** Run in the folder of the program; `KIT` is the kit's. */
  compile: readonly string[];
  use: readonly string[];
  environment?: Record<string, string>;
  isLong?: boolean;
  /** The version that is tried in every run. */
  version: (typeof versions)[number];
}

const packages: Kit = {
  files: ["sdks/generated/requirements.txt"],
  tools: ["python3"],
  install: pipInstall,
};
const modules: Kit = {
  files: ["sdks/generated/package.json"],
  tools: ["npm"],
  install: npmInstall,
};
// What TypeScript's strictest is of the generated code's own writing.
const tsc = [
  process.execPath,
  "KIT/node_modules/typescript/bin/tsc",
  "--noEmit",
  "--skipLibCheck",
  "--strict",
];
const tscOf = "--noImplicitAny false --target es2022 --module esnext --moduleResolution bundler workflow.ts";

const clients: readonly Client[] = [
  {
    generator: "python",
    options: ["--package-name=sluice_client"],
    kit: packages,
    program: ["workflow.py", "workflow.py"],
    compile: ["python3", "-m", "compileall", "-q", "client"],
    use: ["python3", "workflow.py"],
    environment: { PYTHONPATH: "client:KIT/packages" },
    version: "7.12.0",
  },
  {
    generator: "typescript-fetch",
    properties: "modelPropertyNaming=original",
    kit: modules,
    program: ["workflow_fetch.txt", "workflow.ts"],
    compile: [...tsc, ...tscOf.split(" ")],
    use: [process.execPath, "workflow.ts"],
    version: "7.23.0",
  },
  {
    generator: "typescript-axios",
    kit: modules,
    program: ["workflow_axios.txt", "workflow.ts"],
    compile: [...tsc, ...tscOf.split(" ")],
    use: [process.execPath, "workflow.ts"],
    version: "7.23.0",
  },
  {
    generator: "go",
    properties: "useOneOfDiscriminatorLookup=true",
    options: [
      "--package-name=sluice",
      "--git-host=example.com",
      "--git-user-id=sluice",
      "--git-repo-id=client",
    ],
    kit: { files: [], tools: ["go"], install: ["go", "version"] },
    program: ["workflow.go.txt", "client/workflow/workflow.go"],
    compile: ["go", "build", "-C", "client", "-mod=mod", "-o", "../workflow", "./workflow"],
    use: ["./workflow"],
    isLong: true,
    version: "7.23.0",
  },
];

const all = process.env["SLUICE_SDKS"] === "all";

let server: Server;
let document: string;

beforeAll(async () => {
  server = await startServer({ FLUSH_INTERVAL_MS: "50", LOG_LEVEL: "error" });
  document = await (await fetch(`${server.url}/docs/json`)).text();
  await post(server, "/capture/", { api_key: projectKey, event: "$pageview", distinct_id: "ann" });
  await rested(server);
}, startMsMax);

const row = moverTest(
  "openapi-generator, `python`, `go`, `typescript-fetch`, `typescript-axios`",
  "generated_matrix.test.ts",
);

for (const client of clients.filter(({ isLong }) => all || !isLong)) {
  for (const version of versions.filter((one) => all || one === client.version)) {
    const generator = await readyKit(jar(version));
    const kit = generator.missing ? generator : await readyKit(client.kit);
    const { missing } = kit;
    test.skipIf(missing !== "")(
      `${row}: ${client.generator} ${version}${missing && ` (skipped: ${missing})`}`,
      async () => {
        const folder = makeFolder();
        writeFileSync(join(folder, "openapi.json"), document);
        await succeeded(
          [...generation(client, `${generator.folder}/openapi-generator-cli-${version}.jar`)],
          folder,
        );
        const [file, place] = client.program;
        mkdirSync(dirname(join(folder, place)), { recursive: true });
        cpSync(join(import.meta.dir, "sdks/generated", file), join(folder, place));
        if (client.kit === modules)
          symlinkSync(join(kit.folder, "node_modules"), join(folder, "node_modules"));
        const told = (text: string) => text.replace("KIT", kit.folder);
        await succeeded(client.compile.map(told), folder);
        const who = `${client.generator} ${version}`;
        const entries = Object.entries(client.environment ?? {}).map(([name, text]) => [name, told(text)]);
        const environment = { HOST: server.url, KEY: personalKey, WHO: who, ...Object.fromEntries(entries) };
        const printed = await succeeded(client.use.map(told), folder, environment);
        expect(JSON.parse(printed.trim().split("\n").at(-1) ?? "")).toEqual({
          short: 8,
          favorite: true,
          query: ["InsightVizNode", "TrendsQuery"],
          event: "$pageview",
          insights: 1,
          persons: ["ann"],
          export: ["NoOp", "plan", false],
          results: 1,
          error: null,
          missing: 404,
        });
      },
      msMax,
    );
  }
}

function generation({ generator, properties, options = [] }: Client, jarPath: string): string[] {
  const more = properties === undefined ? [] : [`--additional-properties=${properties}`];
  const bare = "--global-property=apiDocs=false,modelDocs=false,apiTests=false,modelTests=false";
  const command = ["java", "-Xmx900m", "-jar", jarPath, "generate", "--generator-name", generator];
  return [...command, "--input-spec=openapi.json", "--output=client", bare, ...options, ...more];
}

/** What a command prints; one that fails fails the test. */
async function succeeded(
  command: string[],
  folder: string,
  environment: Record<string, string> = {},
): Promise<string> {
  const { exitCode, output } = await run(command, folder, environment);
  expect([command.slice(0, 5).join(" "), exitCode, exitCode === 0 ? "" : output.slice(-3000)]).toEqual([
    command.slice(0, 5).join(" "),
    0,
    "",
  ]);
  return output;
}

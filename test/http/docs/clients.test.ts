// Clients made of the document that a running server serves, by the tools that its users have.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import openapiTS, { astToString } from "openapi-typescript";
import { startMsMax } from "../../support/accounts.ts";
import { type RunningApp, startApp } from "../../support/app.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { makeFolder } from "../../support/folder.ts";
import { pythonWith, run } from "../../support/python.ts";
import { personalKey } from "../../support/server.ts";

const root = resolve(import.meta.dir, "../../..");
const toolMsMax = 300_000;

const python = await pythonWith("openapi-python-client==0.29.1");

let app: RunningApp;
let text: string;

beforeAll(async () => {
  app = await startApp();
  text = await (await fetch(`${app.url}/docs/json`)).text();
}, startMsMax);

afterAll(cleanUp, startMsMax);

test("the document is valid OpenAPI", async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(text) as Record<string, unknown>);
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
});

const program = `
import createClient from "openapi-fetch";
import type { components, paths } from "./sluice.d.ts";

type Insight = components["schemas"]["Insight"];

const sluice = createClient<paths>({
  baseUrl: process.env.URL!,
  headers: { Authorization: \`Bearer \${process.env.KEY}\` },
});
const path = { project_id: "@current" };
for (const name of ["one", "two", "three"]) {
  const made = await sluice.POST("/api/projects/{project_id}/insights/", {
    params: { path },
    body: {
      name,
      query: {
        kind: "InsightVizNode",
        source: { kind: "TrendsQuery", series: [{ kind: "EventsNode", event: "$pageview" }] },
      },
    },
  });
  if (made.error) throw new Error(made.error.detail);
}
const names: (string | null)[] = [];
for (let offset = 0, more = true; more; offset += 2) {
  const { data } = await sluice.GET("/api/projects/{project_id}/insights/", {
    params: { path, query: { limit: 2, offset } },
  });
  const page: Insight[] = data?.results ?? [];
  names.push(...page.map(({ name }) => name));
  more = data?.next != null;
}
const events = await sluice.GET("/api/projects/{project_id}/events/", {
  params: { path, query: { after: "-7d", limit: 1 } },
});
console.log(JSON.stringify({ names, events: events.data?.count }));
`;

const wrongProgram = `
import createClient from "openapi-fetch";
import type { paths } from "./sluice.d.ts";

const { data } = await createClient<paths>().GET("/api/projects/", { params: { query: { limit: "ten" } } });
console.log(data?.results.map(({ nickname }) => nickname));
`;

/** The first program of this language in api.md. */
function documentedProgram(language: "ts" | "python"): string {
  const page = readFileSync(join(root, "src/docs/api.md"), "utf8");
  const found = page.split(`\`\`\`${language}\n`)[1]?.split("\n```")[0];
  if (found === undefined) throw new Error(`api.md has no program in ${language}`);
  return found;
}

/** Errors that the type checker finds in this file of the folder. */
async function check(folder: string, file: string): Promise<string[]> {
  const options = {
    target: "ESNext",
    module: "Preserve",
    moduleResolution: "bundler",
    lib: ["ESNext", "DOM", "DOM.Iterable"],
    types: ["bun-types"],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    moduleDetection: "force",
    allowImportingTsExtensions: true,
  };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, files: [file, "sluice.d.ts"] }),
  );
  const { code, printed } = await run([process.execPath, "check", "--no-script", "--no-pretty", "--all"], {
    cwd: folder,
  });
  const errors = printed.split("\n").filter((line) => line.includes("error TS"));
  if (code !== 0 && errors.length === 0) throw new Error(printed);
  return errors;
}

test(
  "a program with the TypeScript client lists, creates and pages, and a wrong one does not compile",
  async () => {
    const folder = makeFolder();
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "sluice.d.ts"), astToString(await openapiTS(text)));
    writeFileSync(join(folder, "program.ts"), program);
    writeFileSync(join(folder, "documented.ts"), documentedProgram("ts"));
    writeFileSync(join(folder, "wrong.ts"), wrongProgram);
    expect(await check(folder, "program.ts")).toEqual([]);
    expect(await check(folder, "documented.ts")).toEqual([]);
    const wrong = await check(folder, "wrong.ts");
    expect(wrong).toHaveLength(2);
    expect(wrong.join()).toContain("Type 'string' is not assignable to type 'number'");
    const ran = await run([process.execPath, "program.ts"], {
      cwd: folder,
      env: { URL: app.url, KEY: personalKey },
    });
    expect(ran).toMatchObject({ code: 0 });
    expect(JSON.parse(ran.printed)).toEqual({ names: ["three", "two", "one"], events: 0 });
  },
  toolMsMax,
);

const pythonProgram = `
import datetime, importlib, json, os, pkgutil
import sluice
from sluice import AuthenticatedClient
from sluice.api.events import events_list
from sluice.api.projects import projects_list, projects_partial_update
from sluice.models import PatchedProject

modules = [one.name for one in pkgutil.walk_packages(sluice.__path__, "sluice.")]
for name in modules:
    importlib.import_module(name)

client = AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["KEY"])
page = projects_list.sync(client=client, limit=1)
project = page.results[0]
since = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
events = events_list.sync(project_id=str(project.id), client=client, after=since)
changed = projects_partial_update.sync(
    project_id=str(project.id), client=client, body=PatchedProject(timezone="Europe/Paris")
)
print(json.dumps({
    "operations": sum(name.startswith("sluice.api.") and name.count(".") == 3 for name in modules),
    "count": page.count,
    "name": project.name,
    "made": isinstance(project.created_at, datetime.datetime),
    "events": events.count,
    "mode": changed.cookieless_server_hash_mode == project.cookieless_server_hash_mode,
    "zone": changed.timezone,
}))
`;

test.skipIf(python === undefined)(
  "the Python client is made whole, imports, lists and changes one field alone",
  async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, "openapi.json"), text);
    const command = "generate --path openapi.json --meta none --output-path sluice --fail-on-warning";
    const made = await python!.run("openapi-python-client", command.split(" "), { cwd: folder });
    expect(made).toMatchObject({ code: 0 });
    writeFileSync(join(folder, "program.py"), pythonProgram);
    const ran = await python!.run("python", [join(folder, "program.py")], {
      cwd: folder,
      env: { URL: app.url, KEY: personalKey },
    });
    expect(ran).toMatchObject({ code: 0 });
    const documented = documentedProgram("python").replace("http://127.0.0.1:8000", app.url);
    writeFileSync(join(folder, "documented.py"), documented);
    const followed = await python!.run("python", [join(folder, "documented.py")], {
      cwd: folder,
      env: { PERSONAL_API_KEY: personalKey },
    });
    expect(followed).toMatchObject({ code: 0 });
    const { paths } = JSON.parse(text) as { paths: Record<string, object> };
    expect(JSON.parse(ran.printed)).toEqual({
      operations: Object.values(paths).flatMap((methods) => Object.keys(methods)).length,
      count: 1,
      name: "Default project",
      made: true,
      events: 0,
      mode: true,
      zone: "Europe/Paris",
    });
  },
  toolMsMax,
);

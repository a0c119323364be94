// The document under schemathesis: requests made of it, valid ones and wrong ones, against a server with a key that may do
// everything. No answer is a 5xx, and each is one that the document describes.
//
// What it runs, beside a server of one's own (PyPI's schemathesis, pinned below):
//
//   printf '[parameters]\nproject_id = "@current"\norganization_id = "@current"\n' > schemathesis.toml
//   st --config-file schemathesis.toml run http://127.0.0.1:8000/docs/json -H "Authorization: Bearer $KEY" \
//     --phases coverage,fuzzing --mode all --max-examples 25 --checks not_a_server_error,status_code_conformance,…
//
// With SLUICE_SDKS=all (`bun run test:long`) every operation gets all cases of the coverage phase and 25 of the fuzzing one,
// more than 30,000 together; otherwise three of the fuzzing one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { pythonWith } from "../support/python.ts";
import { personalKey, type Server, startServer } from "../support/server.ts";

afterAll(cleanUp, startMsMax);

const msMax = 3_500_000;
const all = process.env["SLUICE_SDKS"] === "all";
const python = await pythonWith("schemathesis==4.32.5");

const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

/** What would end the run: these delete what all requests are about. */
const excluded = ["projects_destroy", "organizations_destroy", "personal_api_keys_destroy"];

let server: Server;

beforeAll(async () => {
  server = await startServer({ LOG_LEVEL: "error" });
}, startMsMax);

test.skipIf(python === undefined)(
  "requests made of the document are answered as it says, and none breaks the server",
  async () => {
    const folder = makeFolder();
    // Ids that exist: with others every answer would be a 404.
    writeFileSync(
      join(folder, "schemathesis.toml"),
      '[parameters]\nproject_id = "@current"\norganization_id = "@current"\n',
    );
    const phases = all ? "coverage,fuzzing" : "fuzzing";
    const options = [
      `--phases ${phases} --mode all --max-examples ${all ? 25 : 3} --seed 1 --generation-database none`,
      "--continue-on-failure --max-failures 50 --suppress-health-check all --warnings off --no-color",
      // The paths below /api/environments are the same operations.
      "--include-path-regex ^/api/(projects|organizations|personal_api_keys|users)",
      ...excluded.map((id) => `--exclude-operation-id ${id}`),
      `--checks ${checks.join()}`,
    ].flatMap((line) => line.split(" "));
    const key = ["-H", `Authorization: Bearer ${personalKey}`];
    const args = ["--config-file", "schemathesis.toml", "run", `${server.url}/docs/json`, ...key, ...options];
    const { code, printed } = await python!.run("st", args, { cwd: folder, msMax });
    const [, made = "0", passed = ""] = /(\d+) generated, (\d+) passed/.exec(printed) ?? [];
    expect([code, passed, code === 0 ? "" : printed.slice(-6000)]).toEqual([0, made, ""]);
    expect(Number(made)).toBeGreaterThan(all ? 5000 : 200);
    expect((await fetch(`${server.url}/_readiness`)).status).toBe(200);
  },
  msMax,
);

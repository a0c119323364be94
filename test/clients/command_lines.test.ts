// Command lines for PostHog's API, compiled by cargo: what they ask for within this server's scope works, and of
// the rest the first line says what is missing. Compiling takes minutes: `bun run test:long` does it.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startMsMax } from "../support/accounts.ts";
import { type RunningApp, startApp } from "../support/app.ts";
import { cleanUp } from "../support/cleanup.ts";
import { makeFolder } from "../support/folder.ts";
import { moverTest } from "../support/movers.ts";
import { type Ran, type Readied, readyKit, run } from "../support/sdks.ts";
import { personalKey } from "../support/server.ts";
import { fillShop, shop } from "../support/shop.ts";

const isLong = process.env["SLUICE_SDKS"] === "all";

/** The version is in tools/<name>/version. */
async function fromCargo(name: string): Promise<Readied> {
  if (!isLong) return { folder: "", missing: "bun run test:long compiles it", problem: "" };
  const version = (await Bun.file(join(import.meta.dir, "tools", name, "version")).text()).trim();
  const install = ["cargo", "install", "--quiet", "--locked", "--root", ".", `${name}@${version}`];
  return await readyKit({ files: [], tools: ["cargo"], install });
}

const posthogCli = await fromCargo("posthog-cli");
const bosshogg = await fromCargo("bosshogg");

let app: RunningApp;
let home: string;

beforeAll(async () => {
  app = await startApp({ FLUSH_INTERVAL_MS: "50" });
  await fillShop(app);
  home = makeFolder();
}, startMsMax);

afterAll(cleanUp, startMsMax);

function use({ folder }: Readied, program: string, ...args: string[]): Promise<Ran> {
  return run([join(folder, "bin", program), ...args], home, {
    HOME: home,
    DO_NOT_TRACK: "1",
    POSTHOG_CLI_HOST: app.url,
    POSTHOG_CLI_API_KEY: personalKey,
    POSTHOG_CLI_PROJECT_ID: "1",
    POSTHOG_CLI_ENV_ID: "1",
    POSTHOG_CLI_ORG_ID: app.bootstrapped!.organization_id,
    BOSSHOGG_ALLOW_HTTP: "1",
    BOSSHOGG_CONFIG: join(home, "bosshogg.toml"),
  });
}

/** The JSON that a program prints among its other lines. */
function jsonOf({ output }: Ran): unknown {
  const line = output.split("\n").findLast((one) => /^[{[]/.test(one));
  return JSON.parse(line ?? "null");
}

const skipped = ({ missing }: Readied) => missing && ` (skipped: ${missing})`;
const trend = {
  kind: "TrendsQuery",
  series: [{ kind: "EventsNode", event: "bought", custom_name: "Bought" }],
};

describe.skipIf(posthogCli.missing !== "")(
  moverTest("PostHog's command line, `posthog-cli`", "tools/posthog-cli/version") + skipped(posthogCli),
  () => {
    test("tools of PostHog's MCP server, as agents call them", async () => {
      const call = async (tool: string, args: object = {}) => {
        const command = ["api", "call", "--json", "--confirm", tool, JSON.stringify(args)];
        const ran = await use(posthogCli, "posthog-cli", ...command);
        expect({ tool, ...ran }).toEqual({ tool, exitCode: 0, output: expect.anything() as string });
        return jsonOf(ran) as Record<string, unknown>;
      };
      const found = await call("persons-list", { email: "u3@example.com" });
      expect(found).toMatchObject({ count: 1, results: [{ distinct_ids: ["u3"] }] });
      expect(await call("persons-list", { limit: 2 })).toMatchObject({ count: shop.persons });
      const query = { kind: "InsightVizNode", source: trend };
      const { short_id, id } = await call("insight-create", { name: "Sales", query });
      expect(await call("insight-get", { id: short_id })).toMatchObject({ id });
      // Each call reads the catalogue of all tools anew: two seconds of CPU.
      for (const tool of [
        "projects-get",
        "user-get",
        "org-members-list",
        "batch-exports-list",
        "cohorts-list",
      ]) {
        await call(tool);
      }
      await call("query-trends", { series: trend.series, dateRange: { date_from: "-7d" } });
    });

    test("SQL is answered, and the upload of source maps fails by a sentence that says what is missing", async () => {
      const asked = await use(posthogCli, "posthog-cli", "exp", "query", "run", "SELECT event FROM events");
      expect(asked.output).not.toContain("is not answered by this server");
      expect(asked.exitCode).toBe(0);
      const maps = makeFolder();
      writeFileSync(join(maps, "a.js"), "console.log(1);\n//# sourceMappingURL=a.js.map\n");
      const map = { version: 3, sources: ["a.ts"], mappings: "AAAA", names: [] };
      writeFileSync(join(maps, "a.js.map"), JSON.stringify(map));
      const sent = await use(posthogCli, "posthog-cli", "sourcemap", "process", "--directory", maps);
      expect(sent.exitCode).toBe(1);
      expect(sent.output).toContain("Error tracking does not exist on this server.");
    });
  },
);

/** Its lists, as a new user tries them. */
const lists =
  "whoami; org list; project list; insight list; dashboard list; person list; group list --group-type-index 0; " +
  "batch-export list; session-recording list; event-definition list; property-definition list; cohort list; " +
  "flag list; action list; annotation list; survey list; experiment list";

describe.skipIf(bosshogg.missing !== "")(
  moverTest("bosshogg, a command line", "tools/bosshogg/version") + skipped(bosshogg),
  () => {
    const list = (command: string) => use(bosshogg, "bosshogg", "--json", ...command.split(" "));

    test("every list is read, and a person is found by e-mail alone", async () => {
      for (const command of lists.split("; ")) {
        const ran = await list(command);
        expect({ command, ...ran }).toEqual({ command, exitCode: 0, output: expect.anything() as string });
      }
      expect(jsonOf(await list("person list --email u3@example.com"))).toMatchObject({
        count: 1,
        results: [{ distinct_ids: ["u3"] }],
      });
    });

    test("events, which it reads by HogQL, are listed", async () => {
      const asked = await list("event list");
      expect(asked.output).not.toContain("is not answered by this server");
      expect(asked.exitCode).toBe(0);
    });
  },
);

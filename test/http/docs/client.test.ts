import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { treaty } from "@elysiajs/eden";
import type { Routes } from "../../../src/app.ts";
import { startMsMax } from "../../support/accounts.ts";
import { startApp } from "../../support/app.ts";
import { cleanUp } from "../../support/cleanup.ts";
import { personalKey, projectKey } from "../../support/server.ts";

afterAll(cleanUp, startMsMax);

test(
  "Eden is a typed client of the management API",
  async () => {
    const { url } = await startApp();
    const sluice = treaty<Routes>(url, { headers: { authorization: `Bearer ${personalKey}` } });
    const { data, status } = await sluice.api.projects.get();
    // The type comes from the route: a field that no project has would not pass the type check.
    const tokens: (string | undefined)[] = data?.results.map(({ api_token }) => api_token) ?? [];
    expect({ status, tokens }).toEqual({ status: 200, tokens: [projectKey] });
    const one = await sluice.api.projects({ project_id: data?.results[0]?.id ?? 0 }).get();
    expect(one.data?.name).toBe("Default project");
    const project = sluice.api.projects({ project_id: "@current" });
    const groups = await project.groups.get({ query: { group_type: "company", limit: 5 } });
    const keys: (string | undefined)[] = groups.data?.results.map(({ group_key }) => group_key) ?? [];
    expect({ status: groups.status, keys }).toEqual({ status: 200, keys: [] });
    const made = await project.dashboards.post({ name: "Sales" });
    expect([made.status, made.data?.name]).toEqual([201, "Sales"]);
    const organization = sluice.api.organizations({ organization_id: "@current" });
    const exported = await organization.batch_exports.get({ query: { limit: 1 } });
    expect(exported.data?.results.map(({ interval }) => interval)).toEqual([]);
    const refused = await treaty<Routes>(url).api.projects.get();
    expect([refused.status, refused.data]).toEqual([401, null]);
  },
  startMsMax,
);

test(
  "the clients in api.md ask for what there is",
  async () => {
    const page = readFileSync(join(import.meta.dir, "../../../src/docs/api.md"), "utf8");
    const { url } = await startApp();
    const { paths } = (await (await fetch(`${url}/docs/json`)).json()) as { paths: Record<string, object> };
    const asked = [...page.matchAll(/sluice\.(GET|POST)\("([^"]+)"/g)];
    expect(asked.length).toBeGreaterThan(0);
    for (const [, method, path] of asked) expect(paths[path!]).toHaveProperty(method!.toLowerCase());
  },
  startMsMax,
);

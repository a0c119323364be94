// Batch exports over HTTP, under organizations, projects and environments alike. Decides nothing itself.

import { Elysia } from "elysia";
import { type Gate, projectHomes } from "../access/gate.ts";
import { longPageReply } from "../http/pages/sliced.ts";
import { backfillOperations, type BackfillParts } from "./backfills/operations.ts";
import { exportOperations, type ExportParts } from "./exports/operations.ts";
import { logOperations } from "./logs/operations.ts";
import type { ExportReply, Operation } from "./operation.ts";
import { pauseOperations } from "./exports/pause.ts";
import { runOperations } from "./runs/operations.ts";

export type BatchExportRoutes = ExportParts & BackfillParts & { gate: Gate };

export function batchExportRoutes(parts: BatchExportRoutes) {
  const { gate } = parts;
  const app = new Elysia({ name: "batch exports", tags: ["Batch exports"] }).use(gate);
  const operations = [
    ...exportOperations(parts),
    ...pauseOperations(parts),
    ...runOperations(parts),
    ...backfillOperations(parts),
    ...logOperations(parts),
  ];
  for (const operation of operations) {
    for (const home of projectHomes) mountInProjects(app, home, operation);
    mountInOrganizations(app, operation);
  }
  return app;
}

type App = ReturnType<typeof emptyApp>;

function emptyApp(gate: Gate) {
  return new Elysia().use(gate);
}

function mountInProjects(
  app: App,
  home: string,
  { method, path, scope, only, detail, answer }: Operation,
): void {
  if (only === "organization") return;
  app.route(
    method,
    `${home}/batch_exports/${path}`,
    async ({ access, project, request, params }) =>
      await sent(await answer({ access, request, params, place: { project_id: project.id } })),
    { project_scope: scope, detail },
  );
}

function mountInOrganizations(app: App, { method, path, scope, only, detail, answer }: Operation): void {
  if (only === "project") return;
  app.route(
    method,
    `/api/organizations/:organization_id/batch_exports/${path}`,
    async ({ access, organization, request, params }) =>
      await sent(await answer({ access, request, params, place: { organization_id: organization.id } })),
    { organization_scope: scope, detail },
  );
}

async function sent({ status, body }: ExportReply): Promise<Response> {
  if (body instanceof Response) return body;
  if (status === 204) return new Response(null, { status });
  return (await longPageReply(body)) ?? Response.json(body, { status });
}

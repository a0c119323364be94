// What a route of this room is, wherever it is mounted: the same under organizations, projects and environments.
// Never knows where.

import type { Access } from "../access/gate.ts";
import { Fault } from "../core/fault.ts";
import { isUuid } from "../core/id.ts";
import { requestUrl } from "../http/pages/page.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { getExport, type ExportScope, type StoredExport } from "./exports/store.ts";

/** A request that got past the gate. */
export interface ExportRequest {
  request: Request;
  access: Access;
  /** What it may reach. */
  place: ExportScope;
  params: Record<string, string>;
}

export interface Operation {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Behind `…/batch_exports/`. */
  path: string;
  scope: "batch_export:read" | "batch_export:write";
  /** Only where organizations, or only where projects are. */
  only?: "organization" | "project";
  detail: Record<string, unknown> & { summary: string };
  /** What is answered; undefined: no body. A response is sent as it is. */
  answer: (asked: ExportRequest) => Promise<ExportReply>;
}

export interface ExportReply {
  status: 200 | 201 | 204;
  body?: unknown;
}

export function ok(body: unknown): ExportReply {
  return { status: 200, body };
}

export function urlOf({ request }: ExportRequest): URL {
  return requestUrl(request);
}

/** The export that a path names. @throws Fault not_found */
export async function exportOf(sql: Postgres, { place, params }: ExportRequest): Promise<StoredExport> {
  return present(await getExport(sql, place, idOf(params, "id")));
}

/** An id in the path. @throws Fault not_found for what is none. */
export function idOf(params: Record<string, string>, name: string): string {
  const id = params[name] ?? "";
  if (!isUuid(id)) throw notFound();
  return id.toLowerCase();
}

/** It may be gone by the time it is looked at. */
export function present<Found>(found: Found | undefined): Found {
  if (found === undefined) throw notFound();
  return found;
}

export function notFound(): Fault {
  return new Fault("not_found", "Not found.");
}

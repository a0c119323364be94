// What the operations on batch exports share: they are the same in projects and in organizations.

import { present, uuidOf } from "../http/found.ts";
import { type OperationRequest, operationsOf } from "../http/operation.ts";
import type { Postgres } from "../storage/postgres/postgres.ts";
import { getExport, type ExportScope, type StoredExport } from "./exports/store.ts";

export const exportOperation = operationsOf("project", "organization");

export type AskedOfExports = OperationRequest<"project" | "organization">;
type AskedOfOne = AskedOfExports & { params: { id: string } };

/** The project or organization whose exports are asked for. */
export function scopeOf({ project, organization }: AskedOfExports): ExportScope {
  return project ? { project_id: project.id } : { organization_id: organization.id };
}

/** The export that a path names. @throws Fault not_found */
export async function exportOf(sql: Postgres, asked: AskedOfOne): Promise<StoredExport> {
  return present(await getExport(sql, scopeOf(asked), uuidOf(asked.params.id)));
}

/** A moment of a query as Postgres reads it. */
export function timestamptz(moment: string | undefined): string | undefined {
  return moment && `${moment}+00`;
}

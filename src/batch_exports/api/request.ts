// Requests about batch exports, which are equal in projects and in organizations.

import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { type OperationRequest, toOperations } from "../../http/operation.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { type ExportScope, getExport, type StoredExport } from "../stores/export_store.ts";

export const exportOperation = toOperations("project", "organization");

export type ExportRequest = OperationRequest<"project" | "organization">;
export type OneExportRequest = ExportRequest & { params: { id: string } };

/** The project or organization whose exports the request is about. */
export function toScope({ project, organization }: ExportRequest): ExportScope {
  return project ? { project_id: project.id } : { organization_id: organization.id };
}

/** The export that a path names. @throws Fault not_found */
export async function requireExport(sql: Postgres, request: OneExportRequest): Promise<StoredExport> {
  return present(await getExport(sql, toScope(request), parseUuid(request.params.id)));
}

// Requests about batch exports, which are equal in projects and in organizations.

import { parseUuid, present } from "../../http/fields/field_fault.ts";
import { type OperationRequest, toOperations } from "../../http/operation.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import type { Uses } from "../../storage/services.ts";
import type { Destination } from "../destinations/destination.ts";
import { type ExportScope, getExport, type StoredExport } from "../stores/export_store.ts";
import type { Checks } from "./export_input.ts";

export interface ExportParts extends Omit<Checks, "project_id">, Uses<"sql" | "clock"> {
  /** Tests a project's destination; resolves to the reason why it does not work, or to undefined. */
  probe: (destination: Destination, project_id: number) => Promise<string | undefined>;
  wake: () => void;
}

export const exportOperation = toOperations("project", "organization");

export type ExportRequest = OperationRequest<"project" | "organization">;
export type OneExportRequest = ExportRequest & { params: { id: string } };

export function toScope({ project, organization }: ExportRequest): ExportScope {
  return project ? { project_id: project.id } : { organization_id: organization.id };
}

/** The export that a path names. @throws Fault not_found */
export async function requireExport(sql: Postgres, request: OneExportRequest): Promise<StoredExport> {
  return present(await getExport(sql, toScope(request), parseUuid(request.params.id)));
}

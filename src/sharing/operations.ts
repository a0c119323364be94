// How things are shared, over HTTP: the same operations for every kind of thing.

import type { Scope } from "../access/scope.ts";
import { fieldFault, present } from "../http/fields/field_fault.ts";
import { reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { type SharedKind, sharingBody, sharingModel } from "./model.ts";
import { presentSharing, type SharingParts, unshared } from "./tokens.ts";

export interface Shareable<Things extends string> {
  kind: SharedKind;
  things: Things;
  noun: string;
  /** The scopes to see the thing, which sharing it requires. */
  scopes: readonly Scope[];
  description?: string;
  /** The detail of a 404. */
  nowhere?: string;
  /**
   * The thing that the id in a path names, as links store it; undefined for one that does not exist yet and is not
   * shared.
   * @throws Fault not_found
   */
  find(project_id: number, id: string): Promise<string | undefined>;
  /** @throws Fault for a thing that a link cannot show. */
  checkShared?(project_id: number, target: string): Promise<void>;
}

const shownOne = { 200: reply("How it is shared.", sharingModel) };

export function sharingOperations<const Things extends string>(
  parts: SharingParts,
  { kind, things, noun, scopes, description, nowhere, find, checkShared }: Shareable<Things>,
) {
  const path = `/${things}/:id/sharing/` as const;
  const found = async (project_id: number, params: object) =>
    present(await find(project_id, readId(params)), nowhere);
  // Sharing a thing returns a token that shows it, so it requires the scopes to see it.
  const writing = ["sharing_configuration:write", ...scopes] as const;
  return [
    projectOperation(`GET ${path}`, "sharing_configuration:read", {
      summary: `Get how ${noun} is shared`,
      ...(description !== undefined && { description }),
      find: ({ project, params }) => find(project.id, readId(params)),
      replies: shownOne,
      answer: async ({ project, found: target }) => {
        // Nothing is stored for ids that anybody can make up.
        if (target === undefined) return unshared(parts);
        return await presentSharing(parts, { project_id: project.id, kind, target });
      },
    }),
    projectOperation(`PATCH ${path}`, writing, {
      summary: `Share ${noun}, or stop sharing it`,
      description: "After sharing is disabled, the old token stops working, and a new one replaces it.",
      find: ({ project, params }) => found(project.id, params),
      body: sharingBody,
      replies: shownOne,
      answer: async ({ project, found: target, body: { enabled, password_required, settings } }) => {
        if (password_required) throw unsupported("password_required", "Links have no passwords here.");
        if (Object.keys(settings ?? {}).length > 0)
          throw unsupported("settings", "A link has one way of showing things.");
        if (enabled) await checkShared?.(project.id, target);
        const change = enabled === undefined ? {} : { enabled };
        return await presentSharing(parts, { project_id: project.id, kind, target }, change);
      },
    }),
    projectOperation(`POST ${path}refresh/`, writing, {
      summary: `Replace the token by which ${noun} is shared`,
      description: "The old token stops working at once.",
      find: ({ project, params }) => found(project.id, params),
      replies: shownOne,
      answer: async ({ project, found: target }) =>
        await presentSharing(parts, { project_id: project.id, kind, target }, { renew: true }),
    }),
  ];
}

/** The paths of all kinds have an id. */
function readId(params: object): string {
  return (params as { id: string }).id;
}

function unsupported(field: string, detail: string) {
  return fieldFault("invalid_input", detail, [field]);
}

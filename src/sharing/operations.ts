// How things are shared, over HTTP: the same operations for every kind of thing.

import type { Scope } from "../access/scope.ts";
import { refuseInput } from "../core/fault.ts";
import { randomBase62 } from "../core/id.ts";
import { notFound, parseRowId, present } from "../http/fields/field_fault.ts";
import { gone, reply } from "../http/fields/schema.ts";
import { projectOperation } from "../http/operation.ts";
import { sharingLimits } from "./limits.ts";
import { newPasswordModel, passwordBody, type SharedKind, sharingBody, sharingModel } from "./model.ts";
import { addPassword, removePassword } from "./password_store.ts";
import type { SharingChange } from "./store.ts";
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
  /** @throws Fault for a thing that a link cannot show with these properties. */
  checkShared?(project_id: number, target: string, confirmed: readonly string[]): Promise<void>;
  /** Properties that its SQL would show. */
  listProperties?(project_id: number, target: string): Promise<string[]>;
}

const shownOne = { 200: reply("How it is shared.", sharingModel) };

export function sharingOperations<const Things extends string>(
  parts: SharingParts,
  { kind, things, noun, scopes, description, nowhere, find, checkShared, listProperties }: Shareable<Things>,
) {
  const path = `/${things}/:id/sharing/` as const;
  type Named = { project: { id: number }; params: object };
  // The paths of all kinds have an id.
  const findAny = async ({ project, params }: Named) => await find(project.id, (params as { id: string }).id);
  const findKnown = async (request: Named) => present(await findAny(request), nowhere);
  const presentShared = async (project_id: number, target: string, change: SharingChange = {}) => {
    const { id: _, ...sharing } = await presentSharing(parts, { project_id, kind, target }, change);
    const named = (await listProperties?.(project_id, target)) ?? [];
    const properties_to_confirm = named.filter((name) => !sharing.shown_properties.includes(name));
    return { ...sharing, properties_to_confirm: properties_to_confirm.slice(0, sharingLimits.propertiesMax) };
  };
  // Sharing a thing returns a token that shows it, so it requires the scopes to see it.
  const writing = ["sharing_configuration:write", ...scopes] as const;
  return [
    projectOperation(`GET ${path}`, "sharing_configuration:read", {
      summary: `Get how ${noun} is shared`,
      ...(description !== undefined && { description }),
      find: findAny,
      replies: shownOne,
      answer: async ({ project, found: target }) => {
        // Nothing is stored for ids that anybody can make up.
        if (target === undefined) return { ...unshared(parts), properties_to_confirm: [] };
        return await presentShared(project.id, target);
      },
    }),
    projectOperation(`PATCH ${path}`, writing, {
      summary: `Share ${noun}, or stop sharing it`,
      description: "After sharing is disabled, the old token stops working, and a new one replaces it.",
      find: findKnown,
      body: sharingBody,
      replies: shownOne,
      answer: async ({ project, found: target, body }) => {
        const { settings, ...change } = body;
        const { enabled, shown_properties } = change;
        const isStyled = Object.keys(settings ?? {}).length > 0;
        if (isStyled) refuseInput("A link has one way of showing things.", "settings");
        if (enabled) {
          const confirmed = shown_properties ?? (await presentShared(project.id, target)).shown_properties;
          await checkShared?.(project.id, target, confirmed);
        }
        return await presentShared(project.id, target, change);
      },
    }),
    projectOperation(`POST ${path}refresh/`, writing, {
      summary: `Replace the token by which ${noun} is shared`,
      description: "The old token stops working at once.",
      find: findKnown,
      replies: shownOne,
      answer: async ({ project, found: target }) => await presentShared(project.id, target, { renew: true }),
    }),
    ...passwordOperations({ parts, things, noun, kind, writing, findKnown }),
  ];
}

interface PasswordOperations<Things extends string> extends Pick<
  Shareable<Things>,
  "things" | "noun" | "kind"
> {
  parts: SharingParts;
  writing: readonly [Scope, ...Scope[]];
  findKnown: (request: { project: { id: number }; params: object }) => Promise<string>;
}

function passwordOperations<const Things extends string>(options: PasswordOperations<Things>) {
  const { parts, things, noun, kind, writing, findKnown } = options;
  const path = `/${things}/:id/sharing/` as const;
  return [
    projectOperation(`POST ${path}passwords/`, writing, {
      summary: `Make a password for the link to ${noun}`,
      find: findKnown,
      body: passwordBody,
      replies: { 201: reply("The password.", newPasswordModel) },
      answer: async ({ access, project, found: target, body: { raw_password, note } }) => {
        const { id } = await presentSharing(parts, { project_id: project.id, kind, target });
        const password = raw_password ?? randomBase62(22);
        const user_id = access.user.id;
        const password_hash = await parts.guard.hash(password, user_id);
        const added = await addPassword(parts.sql, id, { password_hash, note, user_id });
        parts.links.forget(id);
        return { ...added, password };
      },
    }),
    projectOperation(`DELETE ${path}passwords/:password_id/`, writing, {
      summary: `Remove a password of the link to ${noun}`,
      find: async (request) => {
        const password_id = parseRowId((request.params as { password_id: string }).password_id);
        return { target: await findKnown(request), password_id };
      },
      replies: gone,
      answer: async ({ project, found: { target, password_id } }) => {
        const { id } = await presentSharing(parts, { project_id: project.id, kind, target });
        if (!(await removePassword(parts.sql, id, password_id))) throw notFound();
        parts.links.forget(id);
      },
    }),
  ];
}

// Deletions of persons over HTTP: one, or up to a thousand.

import type { Access } from "../../access/gate.ts";
import { Fault } from "../../core/fault.ts";
import { notFound } from "../../http/fields/field_fault.ts";
import { choiceParameter, flagParameter, pageParameters, uuidParameter } from "../../http/fields/query.ts";
import { gone, listSchema, reply } from "../../http/fields/schema.ts";
import { projectOperation } from "../../http/operation.ts";
import { pageReply } from "../../http/pages/page.ts";
import { type ProjectReads, toReads } from "../../storage/clickhouse/query_options.ts";
import { ownPersonId } from "../identity.ts";
import { type BulkDeletion, bulkDeletionBody, bulkDeletionModel, deletionStatusModel } from "../model.ts";
import { type CountedParts, nobody, requireMainId } from "../parts.ts";
import { findPersonMains, findSeenMains } from "../reading/main_id_store.ts";
import type { DeletionScope } from "./erase_store.ts";
import { listDeletionOrders } from "./status_store.ts";
import { orderDeletions } from "./store.ts";

export function deletionOperations(parts: CountedParts) {
  const { sql, clickhouse } = parts;
  return [
    projectOperation("GET /persons/deletion_status/", "person:read", {
      summary: "List deletions of persons with their events, newest first",
      query: {
        person_uuid: uuidParameter("Only this person's."),
        status: choiceParameter("By default all.", ["pending", "completed", "all"]),
        ...pageParameters("Deletions"),
      },
      replies: { 200: reply("The deletions.", listSchema(deletionStatusModel)) },
      answer: async ({ project, query, url }) =>
        pageReply(url, query, await listDeletionOrders(sql, project.id, query, query)),
    }),
    projectOperation("DELETE /persons/:uuid/", "person:write", {
      summary: "Delete a person",
      description:
        "Deletes its properties and merges, with `delete_events=true` also all its events so far. Later events " +
        "under one of its ids belong to a new person.",
      query: {
        delete_events: flagParameter("true: its events and sessions as well."),
        delete_recordings: flagParameter(
          "true: its session recordings as well; by default as `delete_events`.",
        ),
        keep_person: flagParameter("true: only events or recordings are deleted, not the person."),
      },
      find: ({ project, params: { uuid } }) => requireMainId(parts, project, uuid),
      replies: gone,
      answer: async ({ access, project, found: main_id, query }) => {
        const deleted = await deleteMains(parts, access, project.id, [main_id], toScope(query));
        if (deleted.size === 0) throw notFound(nobody);
      },
    }),
    projectOperation("POST /persons/bulk_delete/", "person:write", {
      summary: "Delete up to 1,000 persons",
      description:
        "By their uuids or by distinct ids, as one person is deleted. Only what arrived until now is deleted. " +
        "Ids without a person are listed in the answer; an invalid one refuses the request.",
      body: bulkDeletionBody,
      replies: { 202: reply("What was found and deleted.", bulkDeletionModel) },
      answer: async ({ access, project, body }) => {
        const { found, ...missing } = await findRequested(toReads(clickhouse, project.id), body);
        const mains = [...new Set(found.values())];
        const scope = toScope(body);
        const deleted = await deleteMains(parts, access, project.id, mains, scope);
        const uuids = mains.map((main) => ownPersonId(project.id, main));
        return {
          persons_found: mains.length,
          persons_deleted: scope.keep_person ? 0 : deleted.size,
          persons_queued_for_deletion: 0,
          events_queued_for_deletion: scope.delete_events && deleted.size > 0,
          recordings_queued_for_deletion: scope.delete_recordings && deleted.size > 0,
          ...missing,
          deletion_errors: uuids.filter((uuid) => !deleted.has(uuid)).map((uuid) => ({ person_uuid: uuid })),
        };
      },
    }),
  ];
}

/** By default recordings are deleted with the events. */
function toScope({
  delete_events = false,
  delete_recordings = delete_events,
  keep_person = false,
}: { [Name in keyof DeletionScope]?: boolean | undefined }): DeletionScope {
  return { delete_events, delete_recordings, keep_person };
}

/** The uuids of persons that were deleted, or had nothing to delete. */
async function deleteMains(
  { sql, clickhouse, clock, counts }: CountedParts,
  access: Access,
  project_id: number,
  mains: readonly string[],
  scope: DeletionScope,
): Promise<Set<string>> {
  const persons = mains.map((main_id) => ({ main_id, person_id: ownPersonId(project_id, main_id) }));
  const isNothing = scope.keep_person && !scope.delete_events && !scope.delete_recordings;
  if (isNothing || persons.length === 0) return new Set(persons.map(({ person_id }) => person_id));
  const request = { project_id, ...scope, user_id: access.user.id, key_id: access.key.id };
  const deleted = await orderDeletions(sql, clickhouse, request, persons, clock.now() * 1000);
  counts.forget(project_id);
  return deleted;
}

/**
 * The main ids of the persons, by the ids of the request, and the ids without a person.
 * @throws Fault when the request names persons in both ways, or in none.
 */
async function findRequested(reads: ProjectReads, { ids, distinct_ids }: BulkDeletion) {
  if (ids && distinct_ids)
    throw new Fault("invalid_input", "You must provide either distinct_ids or ids, not both.");
  const requested = [...new Set(ids ?? distinct_ids)];
  if (requested.length === 0)
    throw new Fault("invalid_input", "You need to specify either distinct_ids or ids.");
  const found = await (ids ? findPersonMains(reads, requested) : findSeenMains(reads, requested));
  const missing = requested.filter((id) => !found.has(id));
  return { found, ids_not_found: ids ? missing : [], distinct_ids_not_found: distinct_ids ? missing : [] };
}

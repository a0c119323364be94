// Tags of several things at once, over HTTP.

import Type from "typebox";
import { limits } from "../../core/limits.ts";
import { cleanTags } from "../../core/words.ts";
import type { Postgres } from "../../storage/postgres/postgres.ts";
import { updateTags } from "../../storage/postgres/tags.ts";
import { httpLimits } from "../limits.ts";
import { choice, line, model, reference, strictModel, uuid } from "./field.ts";
import { reply } from "./schema.ts";

const id = Type.Integer();
const skippedReason = "Not found, or it would have too many tags.";
const change = {
  action: choice(["add", "remove", "set"]),
  tags: Type.Array(line({ maxLength: 255 }), { maxItems: limits.tagsMax }),
};
const body = strictModel("TagsUpdate", {
  ids: Type.Array(reference(), { maxItems: httpLimits.taggedMax }),
  ...change,
});
const updated = model("TagsUpdated", {
  updated: Type.Array(model("TaggedThing", { id, tags: Type.Array(Type.String()) })),
  skipped: Type.Array(model("SkippedThing", { id, reason: Type.String() })),
});
/** Definitions have uuids. */
export const definitionTagsBody = strictModel("DefinitionTagsUpdate", {
  ids: Type.Array(uuid(), { maxItems: httpLimits.taggedMax }),
  ...change,
});
export const definitionTagsModel = model("DefinitionTagsUpdated", {
  updated: Type.Array(model("TaggedDefinition", { id: uuid(), tags: Type.Array(Type.String()) })),
  skipped: Type.Array(model("SkippedDefinition", { id: uuid(), reason: Type.String() })),
});

/** The record of the operation that changes the tags of rows of a table. */
export function tagsRecord(sql: Postgres, table: "insights" | "dashboards") {
  return {
    summary: `Add, remove or set the tags of several ${table}`,
    body,
    replies: { 200: reply("What was updated, and what was skipped.", updated) },
    answer: async ({ project, body: { ids, action, tags } }: Request) => {
      const change = { ids, action, tags: cleanTags(tags) };
      const rows = await updateTags(sql, table, project.id, change);
      const done = new Map(rows.map((row) => [row.id, row.tags]));
      const asked = [...new Set(ids)];
      return {
        updated: asked.flatMap((thing) => (done.has(thing) ? { id: thing, tags: done.get(thing)! } : [])),
        skipped: asked
          .filter((thing) => !done.has(thing))
          .map((thing) => ({ id: thing, reason: skippedReason })),
      };
    },
  };
}

interface Request {
  project: { id: number };
  body: { ids: number[]; action: "add" | "remove" | "set"; tags: string[] };
}

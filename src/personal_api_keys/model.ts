// A personal API key in replies, the fields that can be set, and which of two keys has more access. Only the reply that
// issues a key has its value.

import Type, { type Static } from "typebox";
import { covers, isScope } from "../access/scope.ts";
import * as field from "../http/fields/field.ts";

export const labelCharsMax = 40;
const descriptionCharsMax = 1000;
/** Organizations or projects that one key may be restricted to. */
const keyScopesMax = 100;

export const personalKeyModel = field.model("PersonalAPIKey", {
  id: field.readOnly(Type.String()),
  label: field.line({ maxLength: labelCharsMax, examples: ["nightly export"] }),
  description: field.nullable(field.text({ maxLength: descriptionCharsMax, blank: true }), {
    default: null,
    description: "What it is for.",
  }),
  mask_value: field.readOnly(Type.String({ description: "The key's first and last four characters." })),
  created_at: field.readOnly(field.moment()),
  last_used_at: field.readOnly(field.nullable(field.moment(), { description: "To the hour." })),
  last_rolled_at: field.readOnly(field.nullable(field.moment())),
  user_id: field.readOnly(Type.Integer()),
  is_legacy_hashing: field.readOnly(Type.Boolean({ description: "Always false." })),
  value: field.readOnly(field.nullable(Type.String(), { description: "Null but where it is issued." })),
  local_dev_value: field.readOnly(field.nullable(Type.String(), { description: "Always null." })),
  scopes: Type.Array(field.text({ maxLength: 64 }), {
    minItems: 1,
    maxItems: keyScopesMax,
    examples: [["query:read", "person:read"]],
    description: "Such as query:read; x:write covers x:read, and * everything.",
  }),
  scoped_teams: Type.Array(field.integer(), {
    maxItems: keyScopesMax,
    default: [],
    description: "Projects it is restricted to; empty: every project of its organizations.",
  }),
  scoped_organizations: Type.Array(field.uuid(), {
    maxItems: keyScopesMax,
    default: [],
    description:
      "Organizations it is restricted to; empty: those that its user had when it was made, and those it creates.",
  }),
});

export const issuedKeyModel = field.model("IssuedPersonalAPIKey", {
  ...personalKeyModel.properties,
  value: Type.String({ description: "The key. Shown now and never again." }),
});

/** Strict: a restriction with a misspelled name would make a key with access to everything. */
export const personalKeyBody = field.strictWritable(personalKeyModel);

export type PersonalKey = Static<typeof personalKeyModel>;
export type PersonalKeyUpdate = field.UpdateInput<typeof personalKeyBody>;

type KeyAccess = Pick<PersonalKey, "scopes" | "scoped_teams" | "scoped_organizations">;

export type PersonalKeyInput = Pick<PersonalKey, "label" | "scopes"> &
  Partial<Pick<PersonalKey, "description" | "scoped_teams" | "scoped_organizations">>;

/** Whether `inner` gives access to nothing that `outer` does not. */
export function isWithin(inner: KeyAccess, outer: KeyAccess): boolean {
  return (
    inner.scopes.every((scope) => isScope(scope) && covers(outer.scopes, scope)) &&
    isHeldTo(inner.scoped_teams, outer.scoped_teams) &&
    isHeldTo(inner.scoped_organizations, outer.scoped_organizations)
  );
}

/** Whether `outer` allows all that `inner` does; an empty list is no restriction. */
function isHeldTo<Item>(inner: readonly Item[], outer: readonly Item[]): boolean {
  return outer.length === 0 || (inner.length > 0 && inner.every((item) => outer.includes(item)));
}

// What a personal API key looks like in a reply. Never holds the key itself, but in the reply that issues it.

import Type, { type Static } from "typebox";

const nullableTime = Type.Union([Type.String({ format: "date-time" }), Type.Null()]);

export const personalKeyModel = Type.Object({
  id: Type.String(),
  label: Type.String({ maxLength: 40 }),
  mask_value: Type.String({ description: "The key's first and last four characters." }),
  scopes: Type.Array(Type.String()),
  scoped_teams: Type.Array(Type.Integer(), { description: "Empty: every project of its user." }),
  scoped_organizations: Type.Array(Type.String({ format: "uuid" }), {
    description: "Empty: every organization of its user.",
  }),
  created_at: Type.String({ format: "date-time" }),
  last_used_at: nullableTime,
  last_rolled_at: nullableTime,
});

export type PersonalKey = Static<typeof personalKeyModel>;

/** A key as it is asked for. */
export interface PersonalKeyWish {
  label: string;
  scopes: string[];
  scoped_teams?: number[];
  scoped_organizations?: string[];
}

export const labelCharsMax = 40;

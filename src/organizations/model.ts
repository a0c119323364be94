// What an organization looks like in a reply, and how its slug is made. Never asks a store.

import Type, { type Static } from "typebox";
import { randomBase62 } from "../core/id.ts";

const nullable = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** One project of an organization, as its members see it. */
const teamModel = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: "uuid" }),
  organization: Type.String({ format: "uuid" }),
  project_id: Type.Integer(),
  api_token: Type.String(),
  name: Type.String(),
  timezone: Type.String(),
});

export const organizationModel = Type.Object({
  id: Type.String({ format: "uuid" }),
  name: Type.String({ maxLength: 64 }),
  slug: Type.String(),
  logo_media_id: nullable(Type.String({ format: "uuid" })),
  created_at: Type.String({ format: "date-time" }),
  updated_at: Type.String({ format: "date-time" }),
  membership_level: nullable(Type.Integer({ description: "1 member, 8 admin, 15 owner." })),
  plugins_access_level: Type.Integer({ description: "0 none, 3 configure, 6 install, 9 everything." }),
  teams: Type.Array(teamModel),
  projects: Type.Array(
    Type.Object({
      id: Type.Integer(),
      organization_id: Type.String({ format: "uuid" }),
      name: Type.String(),
    }),
  ),
  available_product_features: Type.Array(Type.Unknown()),
  is_member_join_email_enabled: Type.Boolean(),
  metadata: Type.String({ description: "A JSON object as text." }),
  customer_id: nullable(Type.String()),
  enforce_2fa: nullable(Type.Boolean()),
  member_count: Type.String({ description: "A whole number as text." }),
  is_ai_data_processing_approved: nullable(Type.Boolean()),
});

export type Organization = Static<typeof organizationModel>;

/** What a membership's level means. */
export const membershipLevels = { member: 1, admin: 8, owner: 15 } as const;

const slugCharsMax = 48;

/**
 * The name in small ASCII letters, digits, `_` and single hyphens; a random one when nothing is left of it.
 */
export function slugOf(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/[^\x20-\x7e]/g, "")
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replace(/[-\s]+/g, "-")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, slugCharsMax);
  return plain || randomBase62(8).toLowerCase();
}

/** Another slug for a name whose own is taken. */
export function otherSlug(slug: string): string {
  return `${slug.slice(0, slugCharsMax - 5)}-${randomBase62(4).toLowerCase()}`;
}

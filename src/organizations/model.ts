// Organizations and their members in replies, the fields that can be set, slugs, and who may change or remove a member.

import Type, { type Static } from "typebox";
import { insufficient, levelNames, membershipLevels, requireLevel } from "../access/people/levels.ts";
import { Fault } from "../core/fault.ts";
import { randomBase62 } from "../core/id.ts";
import { withoutEnds } from "../core/trim.ts";
import * as field from "../http/fields/field.ts";
import { shortProject, userModel } from "../http/fields/user.ts";

/** One project of an organization, as its members see it. */
const teamModel = field.model("TeamBasic", shortProject);

const projectModel = field.model("ProjectBasic", {
  id: Type.Integer(),
  organization_id: field.uuid(),
  name: Type.String(),
});

const never = { description: "Always the same here." };

export const organizationModel = field.model("Organization", {
  id: field.readOnly(field.uuid()),
  name: field.line({ maxLength: 64, examples: ["Hedgehogs, Inc."] }),
  slug: field.readOnly(
    Type.String({ description: "Derived from the first name; renaming does not change it." }),
  ),
  logo_media_id: field.nullable(field.uuid(), { default: null }),
  created_at: field.readOnly(field.moment()),
  updated_at: field.readOnly(field.moment()),
  membership_level: field.readOnly(Type.Integer({ description: `The calling user's: ${levelNames}.` })),
  plugins_access_level: field.readOnly(
    Type.Integer({ description: "0 none, 3 configure, 6 install, 9 everything." }),
  ),
  teams: field.readOnly(Type.Array(teamModel)),
  projects: field.readOnly(Type.Array(projectModel)),
  available_product_features: field.readOnly(Type.Array(Type.Unknown())),
  is_member_join_email_enabled: field.flag({ default: true }),
  metadata: field.readOnly(Type.String({ description: "A JSON object as text." })),
  customer_id: field.readOnly(field.nullable(Type.String())),
  enforce_2fa: field.nullable(field.flag(), { default: null }),
  member_count: field.readOnly(Type.String({ description: "A whole number as text." })),
  is_ai_data_processing_approved: field.nullable(field.flag(), { default: null }),
  is_active: field.readOnly(Type.Boolean(never)),
  is_not_active_reason: field.readOnly(field.nullable(Type.String(), never)),
  is_pending_deletion: field.readOnly(Type.Boolean(never)),
});

/** PostHog's fields that are the same for all organizations. */
export const fixedFields = { is_active: true, is_not_active_reason: null, is_pending_deletion: false };

export const organizationBody = field.strictWritable(organizationModel);

export type OrganizationUpdate = field.UpdateInput<typeof organizationBody>;
export type Organization = Static<typeof organizationModel>;

const slugCharsMax = 48;

/** The name in small ASCII letters, digits, `_` and single hyphens; a random slug when nothing is left of it. */
export function toSlug(name: string): string {
  const words = name
    .normalize("NFKD")
    .replace(/[^\x20-\x7e]/g, "")
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .replace(/[-\s]+/g, "-");
  const plain = withoutEnds(words, "-_").slice(0, slugCharsMax);
  return plain || randomBase62(8).toLowerCase();
}

export function otherSlug(slug: string): string {
  return `${slug.slice(0, slugCharsMax - 5)}-${randomBase62(4).toLowerCase()}`;
}

export const memberModel = field.model("OrganizationMember", {
  id: field.readOnly(field.uuid({ description: "The membership's." })),
  user: field.readOnly(userModel),
  level: Type.Enum(Object.values(membershipLevels), {
    type: "integer",
    description: `${levelNames}.`,
  }),
  joined_at: field.readOnly(field.moment()),
  updated_at: field.readOnly(field.moment()),
  is_2fa_enabled: field.readOnly(Type.Boolean({ description: "Always false." })),
  has_social_auth: field.readOnly(Type.Boolean({ description: "Always false." })),
  last_login: field.readOnly(field.nullable(field.moment(), { description: "To the console." })),
});

export const memberKeysModel = field.model("OrganizationMemberKeys", {
  has_keys: Type.Boolean(),
  has_keys_active_last_week: Type.Boolean(),
  keys: Type.Array(
    field.model("OrganizationMemberKey", {
      name: Type.String(),
      last_used_at: field.nullable(field.moment()),
    }),
  ),
});

export const memberBody = field.strictWritable(memberModel);
export const memberOrders = ["-joined_at", "joined_at"] as const;

export type Member = Static<typeof memberModel>;

export interface Membership {
  user_id: number;
  level: number;
}

const isOwnerOnly = "You can only make another member owner if you're this organization's owner.";

/** @throws Fault when `actor` may not give the member `level`. */
export function requireMayChange(actor: Membership, member: Membership, level: number): void {
  requireLevel(actor.level, membershipLevels.admin, "You can only edit others if you are an admin.");
  if (actor.user_id === member.user_id)
    throw new Fault("permission_denied", "You can't change your own access level.");
  if (Math.max(member.level, level) > actor.level) throw new Fault("permission_denied", isOwnerOnly);
}

/** @param owners how many the organization has. @throws Fault when `actor` may not remove the member. */
export function requireMayRemove(actor: Membership, member: Membership, owners: number): void {
  const isSelf = actor.user_id === member.user_id;
  if (!isSelf && (actor.level < membershipLevels.admin || actor.level < member.level))
    throw new Fault("permission_denied", insufficient.organization);
  if (member.level === membershipLevels.owner && owners <= 1)
    throw new Fault("permission_denied", "An organization's only owner cannot leave it; delete it instead.");
}

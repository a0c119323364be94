// A member of an organization in replies, and who may change or remove one.

import Type, { type Static } from "typebox";
import { insufficient, membershipLevels, requireLevel } from "../../access/people/levels.ts";
import { Fault } from "../../core/fault.ts";
import { model, moment, nullable, readOnly, strictWritable, uuid } from "../../http/fields/field.ts";
import { userModel } from "../../http/fields/user.ts";

export const memberModel = model("OrganizationMember", {
  id: readOnly(uuid({ description: "The membership's." })),
  user: readOnly(userModel),
  level: Type.Enum(Object.values(membershipLevels), {
    type: "integer",
    description: "1 member, 8 admin, 15 owner.",
  }),
  joined_at: readOnly(moment()),
  updated_at: readOnly(moment()),
  is_2fa_enabled: readOnly(Type.Boolean({ description: "Always false." })),
  has_social_auth: readOnly(Type.Boolean({ description: "Always false." })),
  last_login: readOnly(nullable(moment(), { description: "To the console." })),
});

export const memberBody = strictWritable(memberModel);
export const memberOrders = ["-joined_at", "joined_at"] as const;

export type Member = Static<typeof memberModel>;

export interface Membership {
  user_id: number;
  level: number;
}

/** @throws Fault when `actor` may not give the member `level`. */
export function requireMayChange(actor: Membership, member: Membership, level: number): void {
  requireLevel(actor.level, membershipLevels.admin);
  if (actor.user_id === member.user_id)
    throw new Fault("permission_denied", "You can't change your own access level.");
  if (Math.max(member.level, level) > actor.level)
    throw new Fault("permission_denied", "You can only change levels that are not above your own.");
}

/** @param owners how many the organization has. @throws Fault when `actor` may not remove the member. */
export function requireMayRemove(actor: Membership, member: Membership, owners: number): void {
  const isSelf = actor.user_id === member.user_id;
  if (!isSelf && (actor.level < membershipLevels.admin || actor.level < member.level))
    throw new Fault("permission_denied", insufficient.organization);
  if (member.level === membershipLevels.owner && owners <= 1)
    throw new Fault("permission_denied", "An organization's only owner cannot leave it; delete it instead.");
}

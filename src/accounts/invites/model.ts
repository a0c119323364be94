// An invitation to an organization in replies, and what its link shows.

import Type, { type Static } from "typebox";
import { levelNames, membershipLevels } from "../../access/people/levels.ts";
import {
  line,
  model,
  moment,
  nullable,
  readOnly,
  strictModel,
  unsupported,
  uuid,
  writable,
} from "../../http/fields/field.ts";
import { userModel } from "../../http/fields/user.ts";
import { personalKeyModel } from "../../personal_api_keys/model.ts";
import { email, loggedInModel, password, sessionModel } from "../sign_in/model.ts";

/** Open invitations of one organization; further ones are refused. */
export const invitesMax = 100;

export const inviteModel = model("OrganizationInvite", {
  id: readOnly(uuid()),
  target_email: email(),
  first_name: line({ maxLength: 30, blank: true, default: "" }),
  level: Type.Enum(Object.values(membershipLevels), {
    type: "integer",
    default: membershipLevels.member,
    description: `${levelNames}; at most the inviting user's level.`,
  }),
  created_by: readOnly(userModel),
  created_at: readOnly(moment()),
  expires_at: readOnly(moment({ description: "Three days later." })),
  is_expired: readOnly(Type.Boolean({ description: "Always false: expired ones are not shown." })),
  message: readOnly(nullable(Type.String(), { description: "Always null: nothing is sent." })),
  private_project_access: readOnly(Type.Array(Type.Unknown(), { description: "Always empty." })),
  emailing_attempt_made: readOnly(Type.Boolean({ description: "Always false: send the link yourself." })),
});

export const madeInviteModel = model("MadeOrganizationInvite", {
  ...inviteModel.properties,
  link: Type.String({ format: "uri", description: "Opens the invitation, once. Shown now and never again." }),
});

export const madeInvitesModel = Type.Array(madeInviteModel);

export const inviteBody = strictModel(
  "OrganizationInviteRequest",
  {
    ...writable(inviteModel).properties,
    message: unsupported("Nothing is sent: send the link yourself."),
    send_email: unsupported("Nothing is sent: send the link yourself.", [false]),
    private_project_access: unsupported("Projects are open to all members of their organization."),
  },
  inviteModel,
);
export type InviteInput = Pick<Static<typeof inviteBody>, "target_email" | "first_name" | "level">;

/** Invitations of one request, as at PostHog. */
export const bulkMax = 20;
export const invitesBody = strictModel("OrganizationInvitesRequest", {
  invites: Type.Array(strictModel("InvitedPerson", inviteBody.properties), {
    maxItems: invitesMax,
    "x-list": true,
  }),
});

export type Invite = Static<typeof inviteModel>;

export const shownInviteModel = model("InvitationShown", {
  organization_name: Type.String(),
  target_email: Type.String(),
  first_name: Type.String(),
  expires_at: moment(),
});

export type ShownInvite = Static<typeof shownInviteModel>;

export const signupBody = strictModel("SignupRequest", {
  first_name: Type.Optional(line({ maxLength: 30, blank: true })),
  password: password("For a new account; for an account that has the address already, its own."),
});

/** Keys and sessions from before the acceptance: whoever knew the account earlier may hold them. */
export const acceptedModel = model("InvitationAccepted", {
  ...loggedInModel.properties,
  personal_api_keys: Type.Array(personalKeyModel, { description: "The account's, without their values." }),
  sessions: Type.Array(sessionModel, { description: "Of browsers, without the new one." }),
});

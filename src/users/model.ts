// The user of a key in replies.

import Type, { type Static } from "typebox";
import { model, moment, nullable, uuid } from "../http/fields/field.ts";
import { shortProject, userModel } from "../http/fields/user.ts";

const ownProjectModel = model("OwnProject", shortProject);

const ownOrganizationModel = model("OwnOrganization", {
  id: uuid(),
  name: Type.String(),
  slug: Type.String(),
  logo_media_id: nullable(uuid()),
  membership_level: Type.Integer({ description: "The user's: 1 member, 8 admin, 15 owner." }),
});

export const ownUserModel = model("OwnUser", {
  ...userModel.properties,
  date_joined: moment(),
  is_staff: Type.Boolean({ description: "Always false: no user here is above organizations." }),
  has_password: Type.Boolean({ description: "Without one, a personal key signs in." }),
  team: nullable(ownProjectModel, { description: "The current project, among those the key can access." }),
  organization: nullable(ownOrganizationModel, { description: "The organization of `team`." }),
  organizations: Type.Array(ownOrganizationModel, { description: "Those that the key reaches." }),
});

export type OwnUser = Static<typeof ownUserModel>;

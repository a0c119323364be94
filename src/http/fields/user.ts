// Users and projects in the replies of several rooms.

import Type, { type Static } from "typebox";
import { model, timezone, uuid } from "./field.ts";

export const userModel = model("UserBasic", {
  id: Type.Integer(),
  uuid: uuid(),
  distinct_id: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String({ format: "email" }),
  is_email_verified: Type.Boolean(),
  hedgehog_config: Type.Record(Type.String(), Type.Unknown()),
  role_at_organization: Type.String(),
});

export type User = Static<typeof userModel>;

/** Fields of a project in replies about its organization and its members. */
export const shortProject = {
  id: Type.Integer(),
  uuid: uuid(),
  organization: uuid(),
  project_id: Type.Integer(),
  api_token: Type.String(),
  name: Type.String(),
  timezone: timezone(),
};

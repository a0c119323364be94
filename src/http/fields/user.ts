// Who made a thing, as every reply shows them.

import Type, { type Static } from "typebox";
import { model, uuid } from "./field.ts";

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

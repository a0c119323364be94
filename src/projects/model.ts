// What a project looks like in a reply, and what of it can be set. Never holds anything a project's members
// may
// not see.

import Type, { type Static } from "typebox";
import {
  type Changes,
  flag,
  moment,
  readOnly,
  text,
  timezone,
  uuid,
  type Wish,
  writable,
} from "../http/field.ts";

export const projectModel = Type.Object({
  id: readOnly(Type.Integer({ description: "What other replies call `team_id`." })),
  uuid: readOnly(uuid()),
  organization: readOnly(uuid()),
  name: text({ maxLength: 200, default: "Default project" }),
  api_token: readOnly(Type.String({ description: "The project API key, for capturing." })),
  timezone: timezone({ default: "UTC" }),
  session_recording_opt_in: flag({ default: false }),
  created_at: readOnly(moment()),
  updated_at: readOnly(moment()),
});

export type Project = Static<typeof projectModel>;

/** What a request may say of a project. */
export const projectBody = writable(projectModel);

export type ProjectWish = Wish<typeof projectBody>;
export type ProjectChanges = Changes<typeof projectBody>;

// What a project looks like in a reply. Never holds anything a project's members may not see.

import Type, { type Static } from "typebox";

export const projectModel = Type.Object({
  id: Type.Integer({ description: "What other replies call `team_id`." }),
  uuid: Type.String({ format: "uuid" }),
  organization: Type.String({ format: "uuid" }),
  name: Type.String(),
  api_token: Type.String({ description: "The project API key, for capturing." }),
  timezone: Type.String(),
  session_recording_opt_in: Type.Boolean(),
  created_at: Type.String({ format: "date-time" }),
  updated_at: Type.String({ format: "date-time" }),
});

export type Project = Static<typeof projectModel>;

/** What may be said of a project when it is made or changed. */
export interface ProjectChanges {
  name?: string;
  timezone?: string;
  session_recording_opt_in?: boolean;
}

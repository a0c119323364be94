// The sharing of a thing in replies, and its writable fields.

import Type, { type Static } from "typebox";
import { flag, model, moment, nullable, readOnly, strictModel, unsupported } from "../http/fields/field.ts";

/** Kinds of things that a link may show. */
export type SharedKind = "recording" | "insight" | "dashboard";

/** How a thing is shared: whoever has the token may see it. */
export const sharingModel = model("SharingConfiguration", {
  created_at: readOnly(moment()),
  enabled: flag({ default: false }),
  access_token: readOnly(
    nullable(Type.String(), {
      description:
        "What /shared/<access_token>/ opens, while enabled; null when it was encrypted with another SECRET_KEY.",
    }),
  ),
});

export type Sharing = Static<typeof sharingModel>;

export const sharingBody = strictModel(
  "SharingConfigurationRequest",
  {
    enabled: flag({ default: false }),
    password_required: flag({
      default: false,
      description: "true is refused: links have no passwords here.",
    }),
    settings: Type.Optional(
      nullable(Type.Record(Type.String(), Type.Unknown()), {
        description: "Refused unless empty: links have no display settings.",
      }),
    ),
    share_passwords: unsupported("Links have no passwords here."),
  },
  sharingModel,
);

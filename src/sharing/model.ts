// The sharing of a thing in replies, and its writable fields.

import Type, { type Static } from "typebox";
import {
  exactText,
  flag,
  model,
  moment,
  nullable,
  readOnly,
  strictModel,
  text,
} from "../http/fields/field.ts";
import { sharingLimits } from "./limits.ts";

/** Kinds of things that a link may show. */
export type SharedKind = "recording" | "insight" | "dashboard";

const properties = (description: string) =>
  Type.Array(exactText({ maxLength: sharingLimits.propertyCharsMax }), {
    maxItems: sharingLimits.propertiesMax,
    description,
    examples: [["properties.plan"]],
  });

const notShownModel = model("NotShown", {
  insight_id: Type.Integer(),
  name: Type.String(),
  reason: Type.String(),
});
export type NotShown = Static<typeof notShownModel>;

const passwordFields = {
  id: Type.Integer(),
  created_at: moment(),
  note: Type.String(),
  created_by_email: Type.String(),
  is_active: flag({ description: "Always true." }),
};
const sharePasswordModel = model("SharePassword", passwordFields);
export type SharePassword = Static<typeof sharePasswordModel>;

export const newPasswordModel = model("NewSharePassword", {
  ...passwordFields,
  password: Type.String({ description: "In this reply and in no other." }),
});

export const passwordBody = strictModel("SharePasswordRequest", {
  raw_password: Type.Optional(
    nullable(exactText({ maxLength: 128 }), {
      description: "At least 8 characters; a random one without it.",
    }),
  ),
  note: text({ maxLength: 100, blank: true, default: "" }),
});

export const unlockBody = strictModel("LinkPassword", { password: exactText({ maxLength: 128 }) });

/** How a thing is shared: whoever has the token, and a password where it asks for one, may see it. */
export const sharingModel = model("SharingConfiguration", {
  created_at: readOnly(moment()),
  enabled: flag({ default: false }),
  password_required: flag({ default: false, description: "Whether it asks for one of `share_passwords`." }),
  share_passwords: readOnly(Type.Array(sharePasswordModel)),
  expires_at: nullable(moment(), { description: "When the link ends; null for never." }),
  access_token: readOnly(
    nullable(Type.String(), {
      description:
        "What /shared/<access_token>/ opens, while enabled; null when it was encrypted with another SECRET_KEY.",
    }),
  ),
  shown_properties: properties(
    "Properties, as SQL names them, whose values the link may show as keys of groups and in sums.",
  ),
  properties_to_confirm: readOnly(
    properties(
      "Those that SQL names and that are not among `shown_properties`: what needs them is not shown.",
    ),
  ),
  not_shown: readOnly(
    Type.Array(notShownModel, {
      description:
        "Insights that the link left out when it was last computed. Who opens it learns no reason.",
    }),
  ),
});

export type Sharing = Static<typeof sharingModel>;

export const sharingBody = strictModel(
  "SharingConfigurationRequest",
  {
    enabled: flag({ default: false }),
    shown_properties: Type.Optional(sharingModel.properties.shown_properties),
    password_required: Type.Optional(sharingModel.properties.password_required),
    expires_at: Type.Optional(sharingModel.properties.expires_at),
    settings: Type.Optional(
      nullable(Type.Record(Type.String(), Type.Unknown()), {
        description: "Refused unless empty: links have no display settings.",
      }),
    ),
  },
  sharingModel,
);

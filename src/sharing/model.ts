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
  unsupported,
} from "../http/fields/field.ts";
import { sharingLimits } from "./limits.ts";

/** Kinds of things that a link may show. */
export type SharedKind = "recording" | "insight" | "dashboard";

/** How a thing is shared: whoever has the token may see it. */
const properties = (description: string) =>
  Type.Array(exactText({ maxLength: sharingLimits.propertyCharsMax }), {
    maxItems: sharingLimits.propertiesMax,
    description,
    examples: [["properties.plan"]],
  });

export const sharingModel = model("SharingConfiguration", {
  created_at: readOnly(moment()),
  enabled: flag({ default: false }),
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
});

export type Sharing = Static<typeof sharingModel>;

export const sharingBody = strictModel(
  "SharingConfigurationRequest",
  {
    enabled: flag({ default: false }),
    shown_properties: Type.Optional(sharingModel.properties.shown_properties),
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

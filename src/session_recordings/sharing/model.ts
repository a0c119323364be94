// How a recording is shared. Never says with whom: whoever has the token may look.

import Type, { type Static } from "typebox";
import { flag, model, moment, readOnly, writable } from "../../http/fields/field.ts";

export const sharingModel = model("SharingConfiguration", {
  created_at: readOnly(moment()),
  enabled: flag({ default: false }),
  access_token: readOnly(Type.String({ description: "What /shared/<access_token>/ opens, while enabled." })),
});

export type Sharing = Static<typeof sharingModel>;

export const sharingBody = writable(sharingModel);

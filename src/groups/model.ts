// What a group and its type look like in a reply.

import Type from "typebox";
import { model } from "../http/fields/field.ts";

export const groupModel = model("Group", {
  group_type: Type.String(),
  group_key: Type.String(),
  group_properties: Type.Record(Type.String(), Type.Unknown()),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "The same, as events name it." }),
  created_at: Type.String({ format: "date-time" }),
});

const groupTypeModel = model("GroupType", {
  group_type: Type.String(),
  group_type_index: Type.Integer({
    description: "From 0 to 4: what `math_group_type_index` of a query names.",
  }),
});

export const groupTypesModel = Type.Array(groupTypeModel);

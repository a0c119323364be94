// A group, its type and its properties in replies.

import Type from "typebox";
import { limits } from "../core/limits.ts";
import { exactText, integer, line, model, nullable, strictModel } from "../http/fields/field.ts";
import { propertyValuesModel } from "../http/fields/schema.ts";

export const groupModel = model("Group", {
  group_type_index: Type.Integer({ description: "The index of its type, from 0 to 4." }),
  group_type: Type.String(),
  group_key: Type.String(),
  group_properties: Type.Record(Type.String(), Type.Unknown()),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "The same, as events name it." }),
  notebook: nullable(Type.String(), { description: "Always null: there are no notebooks here." }),
  created_at: Type.String({ format: "date-time" }),
});

export const groupBody = strictModel("GroupRequest", {
  group_type_index: integer({ minimum: 0, maximum: 4 }),
  group_key: exactText({ maxLength: limits.groupKeyCharsMax }),
  group_properties: Type.Optional(nullable(Type.Record(Type.String(), Type.Unknown()))),
});

export const groupPropertyBody = strictModel("GroupUpdatePropertyRequest", {
  key: exactText({ description: "The property's name." }),
  value: Type.Unknown({ description: "Any JSON." }),
});

const names = {
  name_singular: nullable(line({ maxLength: 400 })),
  name_plural: nullable(line({ maxLength: 400 })),
};
const default_columns = Type.Array(line({ maxLength: 400 }), { maxItems: limits.groupColumnsMax });

const groupTypeModel = model("GroupType", {
  group_type: Type.String(),
  group_type_index: Type.Integer({
    description: "From 0 to 4: what `math_group_type_index` of a query names.",
  }),
  ...names,
  default_columns: nullable(default_columns, { description: "Stored for clients that list groups." }),
  detail_dashboard: nullable(Type.Integer(), { description: "Always null: groups have no dashboards here." }),
  created_at: nullable(Type.String({ format: "date-time" }), { description: "Always null: not known here." }),
});

const index = integer({ minimum: 0, maximum: 4 });
export const groupTypesBody = strictModel("GroupTypesRequest", {
  types: Type.Array(
    strictModel("GroupTypeRequest", {
      group_type_index: index,
      group_type: Type.Optional(Type.String({ description: "Without effect: a type keeps its name." })),
      name_singular: Type.Optional(names.name_singular),
      name_plural: Type.Optional(names.name_plural),
    }),
    { maxItems: limits.groupTypesMax, "x-list": true },
  ),
});
export const groupColumnsBody = strictModel("GroupColumnsRequest", {
  group_type_index: index,
  default_columns,
});

export const groupTypesModel = Type.Array(groupTypeModel);

export const groupPropertiesModel = Type.Record(
  Type.String(),
  Type.Array(
    model("GroupPropertyDefinition", {
      name: Type.String(),
      count: Type.Integer({ description: "Groups that have it." }),
    }),
  ),
  { description: "By the index of the type, as text." },
);

export const groupValuesModel = propertyValuesModel("GroupProperty", "Groups that have it.");

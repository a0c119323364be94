// Requests that change a person's properties, and what is answered about their values.

import Type from "typebox";
import { exactText, model, strictModel } from "../../http/fields/field.ts";
import { personModel } from "../model.ts";

export const personChangeBody = strictModel(
  "PersonRequest",
  {
    properties: Type.Record(Type.String(), Type.Unknown(), {
      description: "Those that are set; others stay as they are.",
    }),
  },
  personModel,
);

export const updatePropertyBody = strictModel("PersonUpdatePropertyRequest", {
  key: exactText({ description: "The property's name." }),
  value: Type.Unknown({ description: "Any JSON." }),
});

export const deletePropertyBody = strictModel("PersonDeletePropertyRequest", {
  $unset: exactText({ description: "The name of the property that is removed." }),
});

export const successModel = model("Success", { success: Type.Boolean() });

export const personValuesModel = model("PersonPropertyValues", {
  results: Type.Array(
    model("PersonPropertyValue", {
      name: Type.String({ description: "A text as it is, anything else as JSON." }),
      count: Type.Integer({ description: "Persons that have it now." }),
    }),
  ),
  refreshing: Type.Boolean({ description: "Always false: they are read now." }),
});

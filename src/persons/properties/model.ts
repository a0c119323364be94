// Requests that change a person's properties, and replies about values.

import Type from "typebox";
import { exactText, model, strictModel } from "../../http/fields/field.ts";
import { propertyValuesModel } from "../../http/fields/property_values.ts";
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

export const personValuesModel = propertyValuesModel("PersonProperty", "Persons that have it now.");

// Requests and replies of the most frequent values of a property.

import Type from "typebox";
import { model } from "./field.ts";
import { requiredTextParameter, searchParameter } from "./query.ts";

export const valuesQuery = {
  key: requiredTextParameter("the property's name."),
  value: searchParameter("Only values that contain this text, in any case."),
};

/** @param thing the name of the model of one value, without `Value`. @param count what is counted. */
export function propertyValuesModel(thing: string, count: string) {
  return model(`${thing}Values`, {
    results: Type.Array(
      model(`${thing}Value`, {
        name: Type.String({ description: "A text as it is, anything else as JSON." }),
        count: Type.Integer({ description: count }),
      }),
    ),
    refreshing: Type.Boolean({ description: "Always false: they are read now." }),
  });
}

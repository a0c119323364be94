// An event in replies.

import Type, { type Static } from "typebox";
import { model, nullable } from "../http/fields/field.ts";
import { propertyValuesModel } from "../http/fields/schema.ts";
import { personModel } from "../persons/model.ts";

export const eventModel = model("Event", {
  id: Type.String({ format: "uuid" }),
  uuid: Type.String({ format: "uuid" }),
  event: Type.String(),
  distinct_id: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown(), { description: "As the client sent them." }),
  timestamp: Type.String({ format: "date-time" }),
  created_at: Type.String({ format: "date-time" }),
  person_id: Type.String({ format: "uuid" }),
  historical_migration: Type.Boolean(),
});

/** Fields of an event in lists. */
export const listedEventModel = Type.Object(
  {
    ...eventModel.properties,
    person: Type.Optional(
      nullable(personModel, {
        description: "With `include_person` alone: the person that the event belongs to, if there is one.",
      }),
    ),
  },
  { title: "Event" },
);

const elementModel = model("EventElement", {
  text: nullable(Type.String()),
  tag_name: nullable(Type.String()),
  attr_class: nullable(Type.Array(Type.String())),
  href: nullable(Type.String()),
  attr_id: nullable(Type.String()),
  nth_child: nullable(Type.Integer()),
  nth_of_type: nullable(Type.Integer()),
  attributes: Type.Record(Type.String(), Type.Unknown()),
  order: Type.Integer(),
});

export type ShownElement = Static<typeof elementModel>;

export const oneEventModel = Type.Object(
  {
    ...eventModel.properties,
    person: nullable(personModel, {
      description: "With `include_person` the person that the event belongs to, if there is one; else null.",
    }),
    elements: Type.Array(elementModel, {
      description: "Of an autocaptured event; they are in its properties, too.",
    }),
    elements_chain: Type.String({ description: "The property `$elements_chain`, or empty." }),
  },
  { title: "SingleEvent" },
);

export const eventValuesModel = propertyValuesModel("EventProperty", "Events that have it.");

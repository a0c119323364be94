// An annotation in replies, and the fields that can be set.

import Type, { type Static } from "typebox";
import * as field from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { annotationLimits } from "./limits.ts";

/** Which charts show it. "dashboard_item" is PostHog's name of an insight. */
export const annotationScopes = ["dashboard_item", "dashboard", "project", "organization"] as const;

const none = { default: null };
const describeName = (what: string) =>
  field.readOnly(field.nullable(Type.String(), { description: `The ${what}.` }));

export const annotationModel = field.model("Annotation", {
  id: field.readOnly(Type.Integer()),
  content: field.nullable(field.text({ maxLength: annotationLimits.contentCharsMax, blank: true }), none),
  date_marker: field.nullable(
    field.moment({ description: "The moment of the charts that it is about." }),
    none,
  ),
  creation_type: field.choice(["USR", "GIT"], { default: "USR", description: "By a user, or a program." }),
  dashboard_item: field.nullable(field.reference({ description: "An insight of this project." }), none),
  dashboard_id: field.nullable(field.reference({ description: "A dashboard of this project." }), none),
  insight_short_id: describeName("insight's short id"),
  insight_name: describeName("insight's name"),
  insight_derived_name: describeName("insight's name where it has none"),
  dashboard_name: describeName("dashboard's name"),
  created_by: field.readOnly(field.nullable(userModel)),
  created_at: field.readOnly(field.moment()),
  updated_at: field.readOnly(field.moment()),
  deleted: field.flag({ default: false }),
  scope: field.choice(annotationScopes, {
    default: "dashboard_item",
    description:
      "Where it is shown: on one insight or dashboard, in the project, or in all of the organization.",
  }),
  is_emoji: field.flag({ default: false, description: "true: the content is a single emoji." }),
});

export type Annotation = Static<typeof annotationModel>;

export const annotationBody = field.strictModel(
  "AnnotationRequest",
  {
    ...field.writable(annotationModel).properties,
    recording_id: field.unsupported("Recordings have no annotations."),
  },
  annotationModel,
);

export type AnnotationInput = field.CreateInput<typeof annotationBody>;
export type AnnotationUpdate = field.UpdateInput<typeof annotationBody>;

const emoji = /^\p{RGI_Emoji}$/v;

/** Finds what is wrong with the content of an emoji, in PostHog's words. */
export function findWrongEmoji({ content, is_emoji }: Pick<Annotation, "content" | "is_emoji">) {
  if (!is_emoji || emoji.test(content ?? "")) return undefined;
  return `When is_emoji is True, content ${content ? "must be a single emoji" : "cannot be empty"}`;
}

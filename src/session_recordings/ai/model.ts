// What the two helpers take and answer, and whether an answer of a language model is one. Never trusts it further than
// this: what does not fit exactly is refused.

import Type, { type Static } from "typebox";
import { operators } from "../../storage/events/property_check.ts";
import { Check } from "typebox/schema";
import { aiLimits } from "./limits.ts";
import { choice, model, text } from "../../http/fields/field.ts";

const short = { maxLength: aiLimits.promptedTextCharsMax };
const exact = { additionalProperties: false };

/** What may be said of a session: PostHog's kinds of properties and comparisons. */
const kinds = [
  "meta",
  "event",
  "person",
  "element",
  "session",
  "cohort",
  "recording",
  "log_entry",
  "group",
  "hogql",
  "data_warehouse",
  "data_warehouse_person_property",
] as const;

const filterModel = Type.Object(
  {
    key: Type.String({ minLength: 1, ...short }),
    type: Type.Enum(kinds, { type: "string" }),
    value: Type.Array(Type.String(short), { maxItems: aiLimits.promptedFiltersMax }),
    operator: Type.Enum([...operators, "min", "max"], { type: "string" }),
  },
  { ...exact, title: "AIFilter" },
);
const anyOrAll = Type.Enum(["AND", "OR"] as const, { type: "string" });
const innerGroup = Type.Object(
  { type: anyOrAll, values: Type.Array(filterModel, { maxItems: aiLimits.promptedFiltersMax }) },
  { ...exact, title: "AIFilterGroup" },
);
const groupModel = Type.Object(
  { type: anyOrAll, values: Type.Array(innerGroup, { maxItems: aiLimits.promptedFiltersMax }) },
  { ...exact, title: "AIFilterGroups" },
);

const relativeOrDate =
  "^(-\\d{1,4}[hdwmqy]|\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?Z?)?)$";
const dateModel = Type.Union([Type.String({ pattern: relativeOrDate }), Type.Null()]);

export const filtersModel = Type.Object(
  {
    result: Type.Enum(["filter", "question"] as const, { type: "string" }),
    data: Type.Object(
      {
        question: Type.Optional(
          Type.Union([Type.String(short), Type.Null()], { description: "Asked back." }),
        ),
        date_from: Type.Optional(dateModel),
        date_to: Type.Optional(dateModel),
        filter_group: Type.Optional(Type.Union([groupModel, Type.Null()])),
      },
      { ...exact, title: "AIFiltersData" },
    ),
  },
  {
    ...exact,
    title: "AIFilters",
    examples: [
      {
        result: "filter",
        data: {
          date_from: "-7d",
          filter_group: {
            type: "AND",
            values: [
              {
                type: "AND",
                values: [{ key: "console_error_count", type: "recording", value: ["0"], operator: "gt" }],
              },
            ],
          },
        },
      },
    ],
  },
);

export const regexModel = Type.Object(
  {
    result: Type.Enum(["success", "error"] as const, { type: "string" }),
    data: Type.Object(
      {
        output: Type.String({ description: "The expression, or why there is none.", minLength: 1, ...short }),
      },
      { ...exact, title: "AIRegexData" },
    ),
  },
  { ...exact, title: "AIRegex" },
);

export type Filters = Static<typeof filtersModel>;
export type Regex = Static<typeof regexModel>;

/** A filter has conditions, a question is asked. */
export function isFilters(answer: unknown): answer is Filters {
  if (!Check(filtersModel, answer)) return false;
  const { result, data } = answer as Filters;
  return result === "filter" ? Boolean(data.filter_group) : Boolean(data.question);
}

/** An expression is one that can be read. It is never run here. */
export function isRegex(answer: unknown): answer is Regex {
  if (!Check(regexModel, answer)) return false;
  const { result, data } = answer as Regex;
  return result === "error" || canBeRead(data.output);
}

function canBeRead(pattern: string): boolean {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

/** The prompts, once one of them is there. */
export const messagesPrompt = Type.Object({
  messages: Type.Array(
    model("AIMessage", {
      role: choice(["user", "assistant"]),
      content: text({ maxLength: aiLimits.promptCharsMax }),
    }),
    { minItems: 1, maxItems: aiLimits.promptMessagesMax },
  ),
});

export const regexPrompt = Type.Object({ regex: text({ maxLength: aiLimits.promptCharsMax }) });

/** Nothing in them has to be there: without a prompt nothing is made. */
export const filtersBody = model("AIFiltersRequest", {
  person: Type.Optional(Type.Unknown({ description: "Taken, and not used." })),
  messages: Type.Optional(
    Type.Unknown({
      "x-shown": messagesPrompt.properties.messages,
      description: "What was said so far: a list of {role: user or assistant, content}.",
      examples: [[{ role: "user", content: "visits from Paris with an error, last week" }]],
    }),
  ),
});

export const regexBody = model("AIRegexRequest", {
  person: Type.Optional(Type.Unknown({ description: "Taken, and not used." })),
  regex: Type.Optional(
    Type.Unknown({
      "x-shown": regexPrompt.properties.regex,
      description: "What the expression is to match, in words.",
      examples: ["any address below /blog/"],
    }),
  ),
});

// The requests and answers of the two helpers, and the check of a language model's answer, which must fit exactly.

import Type, { type Static, type TProperties, type TSchema } from "typebox";
import { Check } from "typebox/schema";
import { wordsIn } from "../../core/words.ts";
import { choice, model, nullable, strictModel, text } from "../../http/fields/field.ts";
import { operators } from "../../storage/events/property_value.ts";
import { aiLimits } from "./limits.ts";

const short = { maxLength: aiLimits.promptedTextCharsMax };

/** An object of these properties and no others. */
function exact<Properties extends TProperties>(title: string, properties: Properties, more: object = {}) {
  return Type.Object(properties, { additionalProperties: false, title, ...more });
}

function orNull<Schema extends TSchema>(schema: Schema, notes: object = {}) {
  return Type.Optional(nullable(schema, notes));
}

/** PostHog's kinds of properties and comparisons in filters of sessions. */
const kinds = wordsIn(`
  meta event person element session cohort recording log_entry group hogql data_warehouse
  data_warehouse_person_property
`);

const filterModel = exact("AIFilter", {
  key: Type.String({ minLength: 1, ...short }),
  type: choice(kinds),
  value: Type.Array(Type.String(short), { maxItems: aiLimits.promptedFiltersMax }),
  operator: choice([...operators, "min", "max"]),
});

function group<Schema extends TSchema>(title: string, of: Schema) {
  return exact(title, {
    type: choice(["AND", "OR"]),
    values: Type.Array(of, { maxItems: aiLimits.promptedFiltersMax }),
  });
}

const relativeOrDate =
  "^(-\\d{1,4}[hdwmqy]|\\d{4}-\\d\\d-\\d\\d([T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?Z?)?)$";
const date = Type.String({ pattern: relativeOrDate });
const exampleFilter = { key: "console_error_count", type: "recording", value: ["0"], operator: "gt" };
const exampleGroup = { type: "AND", values: [{ type: "AND", values: [exampleFilter] }] };

export const filtersModel = exact(
  "AIFilters",
  {
    result: choice(["filter", "question"]),
    data: exact("AIFiltersData", {
      question: orNull(Type.String(short), { description: "A question to the user." }),
      date_from: orNull(date),
      date_to: orNull(date),
      filter_group: orNull(group("AIFilterGroups", group("AIFilterGroup", filterModel))),
    }),
  },
  { examples: [{ result: "filter", data: { date_from: "-7d", filter_group: exampleGroup } }] },
);

export const regexModel = exact("AIRegex", {
  result: choice(["success", "error"]),
  data: exact("AIRegexData", {
    output: Type.String({ description: "The expression, or why there is none.", minLength: 1, ...short }),
  }),
});

export type Filters = Static<typeof filtersModel>;
type Regex = Static<typeof regexModel>;

/** Whether the answer has conditions, or a question back. */
export function isFilters(answer: unknown): answer is Filters {
  if (!Check(filtersModel, answer)) return false;
  const { result, data } = answer as Filters;
  return result === "filter" ? Boolean(data.filter_group) : Boolean(data.question);
}

/** Whether the expression can be parsed. It is not run here. */
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

/** A prompt has at least one message. */
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

const person = Type.Optional(Type.Unknown({ description: "Accepted, and not used." }));

/** No field is required: without a prompt there are no filters. */
export const filtersBody = strictModel("AIFiltersRequest", {
  person,
  messages: Type.Optional(
    Type.Unknown({
      "x-shown": messagesPrompt.properties.messages,
      description: "The messages so far: a list of {role: user or assistant, content}.",
      examples: [[{ role: "user", content: "visits from Paris with an error, last week" }]],
    }),
  ),
});

export const regexBody = strictModel("AIRegexRequest", {
  person,
  regex: Type.Optional(
    Type.Unknown({
      "x-shown": regexPrompt.properties.regex,
      description: "A description of what the expression should match.",
      examples: ["any address below /blog/"],
    }),
  ),
});

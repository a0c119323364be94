// Schemas of what several kinds of queries have: series, spans, filters, breakdowns, and fields that are not read.

import Type, { type Static, type TSchema } from "typebox";
import { wordsIn } from "../../core/words.ts";
import * as field from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";

export const maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(field.nullable(schema));
/** A field that is refused; `also`: values that mean the same as none. */
export const unanswered = (called: string, also?: readonly (string | number)[]) =>
  field.unsupported(`${called} is not supported.`, also);
/** Anything; checked where it is used. */
export const anything = () => Type.Optional(Type.Unknown());
/** Anything by name. */
export const members = () => maybe(Type.Record(Type.String(), Type.Unknown()));
export const list = Type.Array;

/** Fields that change no result: they are accepted, and an insight keeps them. @param names separated by blanks. */
export function unreadFields(reason: string, names: string): Record<never, never> {
  return Object.fromEntries(wordsIn(names).map((name) => [name, field.unread(reason)])) as Record<
    never,
    never
  >;
}

/** Reasons of such fields. */
export const drawing = "About drawing the result; no effect on it.";
export const aboutSender = "Accepted without effect: about the client, or an earlier answer.";
export const aboutRefused =
  "About something refused itself: a trend's calendar, a funnel's breakdowns by one step's values, their order.";

export const ofEveryQuery = {
  modifiers: unanswered("A modifier"),
  ...unreadFields(aboutSender, "response tags version"),
};

export const maths = wordsIn(`
  total dau weekly_active monthly_active unique_session unique_group first_time_for_user first_matching_event_for_user
  first_time_for_user_with_filters unique sum avg min max median p75 p90 p95 p99 hogql avg_count_per_actor
  min_count_per_actor max_count_per_actor median_count_per_actor p75_count_per_actor p90_count_per_actor
  p95_count_per_actor p99_count_per_actor
`);

const intervals = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"] as const;
export const interval = maybe(field.choice(intervals));
export const groupTypeIndex = maybe(field.integer({ minimum: 0, maximum: 4 }));

export const compareFilter = maybe(
  field.strictModel("CompareFilter", {
    compare: maybe(field.flag()),
    compare_to: maybe(
      field.text({ blank: true, maxLength: 10, description: "How far back, like -1y; else PostHog's rule." }),
    ),
  }),
);

export const expressionList = (minItems = 0) =>
  Type.Array(field.text({ maxLength: queryLimits.expressionCharsMax }), {
    minItems,
    maxItems: queryLimits.queryColumnsMax,
  });

/** Fields of lists with SQL expressions. */
export const listFields = {
  orderBy: maybe(expressionList()),
  limit: maybe(field.integer({ minimum: 1, maximum: queryLimits.queryRowsMax })),
  offset: maybe(field.integer({ minimum: 0 })),
  ...ofEveryQuery,
};

const date = maybe(field.text({ blank: true, maxLength: 40 }));

/** Fields of lists whose rows have a moment. */
export const timedListFields = {
  select: expressionList(),
  where: maybe(expressionList()),
  personId: maybe(field.uuid()),
  after: date,
  before: date,
  ...listFields,
};

export const node = field.strictModel("EventsNode", {
  kind: Type.Optional(field.choice(["EventsNode"])),
  event: maybe(field.text({ blank: true })),
  custom_name: maybe(field.text({ blank: true, maxLength: 400 })),
  math: maybe(field.choice(maths)),
  math_property: maybe(field.text()),
  math_group_type_index: groupTypeIndex,
  math_property_type: maybe(
    field.choice(["event_properties", "person_properties", "session_properties"], {
      description: "Whose property the math is of; an event's by default.",
    }),
  ),
  math_hogql: maybe(field.text({ blank: true, maxLength: queryLimits.expressionCharsMax })),
  math_multiplier: maybe(Type.Number({ description: "Multiplies the property of math; no other." })),
  math_property_revenue_currency: unanswered("A currency"),
  optionalInFunnel: unanswered("An optional step"),
  properties: anything(),
  fixedProperties: anything(),
  ...unreadFields(drawing, "name"),
  ...unreadFields(aboutSender, "response version"),
  ...unreadFields("Applies to event rows only; series have none.", "limit orderBy"),
});

export const seriesList = (minItems = 1, maxItems: number = queryLimits.querySeriesMax) =>
  Type.Array(node, { minItems, maxItems });

export const dates = { date_from: date, date_to: date };
export const dateRange = maybe(
  field.strictModel("DateRange", {
    ...dates,
    explicitDate: maybe(field.flag()),
    excludeIncompletePeriods: maybe(field.flag({ description: "Only intervals that are over, if any." })),
    daysOfWeek: maybe(
      Type.Array(field.integer({ minimum: 1, maximum: 7 }), {
        maxItems: 7,
        description: "Only events of these days: 1 is Monday.",
      }),
    ),
  }),
);

export const insightFields = {
  dateRange,
  properties: anything(),
  filterTestAccounts: maybe(field.flag()),
  samplingFactor: unanswered("Sampling", [1]),
  aggregation_group_type_index: unanswered("Counting groups"),
  ...unreadFields(drawing, "dataColorTheme"),
  ...ofEveryQuery,
};

const breakdownTypes = ["event", "event_metadata", "person", "group", "session", "hogql"] as const;

/** Into so many equal ranges a number is broken down. */
const binCount = maybe(field.integer({ minimum: 1, maximum: queryLimits.breakdownValuesMax }));

const breakdown = field.strictModel("Breakdown", {
  property: anything(),
  type: maybe(field.choice(breakdownTypes)),
  normalize_url: maybe(field.flag()),
  histogram_bin_count: binCount,
  group_type_index: groupTypeIndex,
});

export const breakdownFilter = maybe(
  field.strictModel("BreakdownFilter", {
    breakdown: anything(),
    breakdown_type: maybe(field.choice(breakdownTypes)),
    breakdown_limit: maybe(
      field.integer({ minimum: 1, description: `Beyond ${queryLimits.breakdownValuesMax} it means that.` }),
    ),
    breakdown_hide_other_aggregation: maybe(field.flag()),
    breakdowns: maybe(Type.Array(breakdown)),
    breakdown_histogram_bin_count: binCount,
    breakdown_group_type_index: groupTypeIndex,
    breakdown_normalize_url: maybe(field.flag()),
    breakdown_path_cleaning: unanswered("A breakdown by cleaned paths"),
  }),
);

/** Identifies the figure whose persons are listed; each kind accepts some of these fields. */
export const figureOfInsight = {
  /** Same as in the result: a date, or a number of intervals for stickiness. */
  day: anything(),
  /** The index of the series. */
  series: maybe(field.integer({ minimum: 0 })),
  breakdown: anything(),
  /** Status of a lifecycle. */
  status: maybe(field.text()),
  compare: maybe(field.choice(["current", "previous"])),
  /** Index of retention's row. */
  interval: maybe(field.integer({ minimum: 0 })),
};
export const figureOfStickiness = {
  ...figureOfInsight,
  /** How the number of intervals compares with `day`. */
  operator: maybe(field.choice(["gte", "lte", "exact"])),
};
export const figureOfFunnel = {
  /** A step from 1 on, negative for those who did not reach it. */
  funnelStep: maybe(field.integer()),
  funnelStepBreakdown: anything(),
  /** Trends of funnels only: who did not convert, and the interval in which they began. */
  funnelTrendsDropOff: maybe(field.flag()),
  funnelTrendsEntrancePeriodStart: maybe(field.text({ maxLength: 40 })),
};
const timedList = Type.Object(timedListFields);
const figure = Type.Object({ ...figureOfStickiness, ...figureOfFunnel });
export const figureFields = Object.keys(figure.properties) as (keyof FigureFields)[];

export type TimedListFields = Static<typeof timedList>;
export type FigureFields = Static<typeof figure>;
export type CompareFilter = Static<typeof compareFilter>;
export type BreakdownFilter = Static<typeof breakdownFilter>;
export type EventsNode = Static<typeof node>;
export type Interval = (typeof intervals)[number];
export type Math = (typeof maths)[number];
export type DateRange = Static<typeof dateRange>;

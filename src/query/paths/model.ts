// The schema of a PathsQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { drawing, insightFields, maybe, unanswered, unreadFields } from "../parts/model.ts";

const names = maybe(Type.Array(text({ maxLength: 1000 }), { maxItems: queryLimits.pathNamesMax }));

/** A rule for the names of steps: the text that matches the pattern becomes the alias. */
const cleaningRule = strictModel("PathCleaningFilter", {
  regex: maybe(text({ blank: true, maxLength: 1000 })),
  alias: maybe(text({ blank: true, maxLength: 1000 })),
  ...unreadFields("The rules apply in the order of the list.", "order"),
});

export const pathsModel = strictModel("PathsQuery", {
  kind: choice(["PathsQuery"]),
  ...insightFields,
  pathsFilter: maybe(
    strictModel("PathsFilter", {
      includeEventTypes: maybe(Type.Array(choice(["$pageview", "$screen", "custom_event", "hogql"]))),
      startPoint: maybe(text({ blank: true, maxLength: 1000 })),
      endPoint: maybe(text({ blank: true, maxLength: 1000 })),
      excludeEvents: names,
      pathGroupings: names,
      stepLimit: maybe(integer({ minimum: 1, maximum: queryLimits.pathStepsMax })),
      edgeLimit: maybe(integer({ minimum: 1, maximum: queryLimits.pathLinksMax })),
      minEdgeWeight: maybe(integer({ minimum: 0 })),
      maxEdgeWeight: maybe(integer({ minimum: 0 })),
      pathsHogQLExpression: maybe(text({ blank: true, maxLength: queryLimits.expressionCharsMax })),
      pathReplacements: unanswered("Cleaning paths by the project's rules"),
      localPathCleaningFilters: maybe(Type.Array(cleaningRule, { maxItems: queryLimits.pathRulesMax })),
      // Start of a link whose persons are listed; the links themselves are of all steps.
      pathStartKey: maybe(text({ blank: true, maxLength: 1100 })),
      pathEndKey: maybe(text({ blank: true, maxLength: 1100 })),
      pathDropoffKey: maybe(text({ blank: true, maxLength: 1100 })),
      ...unreadFields(drawing, "showFullUrls"),
    }),
  ),
  funnelPathsFilter: unanswered("A path around a funnel"),
});

export type PathsQuery = Static<typeof pathsModel>;

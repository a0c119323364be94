// The schema of a PathsQuery.

import Type, { type Static } from "typebox";
import { choice, integer, strictModel, text } from "../../http/fields/field.ts";
import { queryLimits } from "../limits.ts";
import { drawing, insightFields, maybe, unanswered, unreadFields } from "../parts/model.ts";

const names = maybe(Type.Array(text({ maxLength: 1000 }), { maxItems: queryLimits.pathNamesMax }));

export const pathsModel = strictModel("PathsQuery", {
  kind: choice(["PathsQuery"]),
  ...insightFields,
  pathsFilter: maybe(
    strictModel("PathsFilter", {
      includeEventTypes: maybe(Type.Array(choice(["$pageview", "$screen", "custom_event"]))),
      startPoint: maybe(text({ blank: true, maxLength: 1000 })),
      endPoint: maybe(text({ blank: true, maxLength: 1000 })),
      excludeEvents: names,
      pathGroupings: names,
      stepLimit: maybe(integer({ minimum: 1, maximum: queryLimits.pathStepsMax })),
      edgeLimit: maybe(integer({ minimum: 1, maximum: queryLimits.pathLinksMax })),
      minEdgeWeight: maybe(integer({ minimum: 0 })),
      maxEdgeWeight: maybe(integer({ minimum: 0 })),
      pathsHogQLExpression: unanswered("A path of expressions"),
      pathReplacements: unanswered("Cleaning paths by the project's rules"),
      localPathCleaningFilters: unanswered("Cleaning paths by rules"),
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

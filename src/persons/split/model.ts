// The request of a split.

import Type, { type Static } from "typebox";
import { exactText, nullable, strictModel } from "../../http/fields/field.ts";
import { personLimits } from "../limits.ts";

export const splitBody = strictModel("PersonSplitRequest", {
  main_distinct_id: Type.Optional(
    nullable(exactText(), {
      description:
        "The person's main distinct id, which stays, as it does by default: all others are split off.",
    }),
  ),
  distinct_ids_to_split: Type.Optional(
    nullable(Type.Array(exactText(), { minItems: 1, maxItems: personLimits.splitAtOnceMax }), {
      description: "Only these are split off. Not together with `main_distinct_id`.",
    }),
  ),
});

export type SplitBody = Static<typeof splitBody>;

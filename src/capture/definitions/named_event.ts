// An event as far as it has names: a row on its way into the columns, or one that was read back.

import type { Row } from "../event/row.ts";

export type NamedEvent = Pick<Row, "project_id" | "event" | "properties" | "created_at"> & {
  changes: Pick<
    Row["changes"],
    "count" | "ops" | "keySource" | "keyFrom" | "keyTo" | "valueFrom" | "source"
  > & { valueTo: ArrayLike<number> };
  groups: Pick<Row["groups"], "identified" | "types">;
};

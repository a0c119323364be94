// A destination to which nothing is written: a run only counts its rows.

import { eventColumns } from "../../source/columns.ts";
import { destinationKind } from "../destination.ts";

export const noOp = destinationKind({
  fields: { arg: { kind: "str", otherwise: "" } },
  columns: eventColumns,
  write: ({ rows }) => Promise.resolve(rows),
  probe: () => Promise.resolve(),
});

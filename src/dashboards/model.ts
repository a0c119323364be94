// What a dashboard looks like in a reply, and what of it can be set. Its insights are described in their own room.

import Type, { type Static } from "typebox";
import { limits } from "../core/limits.ts";
import {
  type UpdateInput,
  flag,
  integer,
  model,
  moment,
  nullable,
  readOnly,
  reference,
  text,
  type CreateInput,
  writable,
} from "../http/fields/field.ts";
import { modelNamed } from "../http/docs/models.ts";
import { userModel } from "../http/fields/user.ts";

const properties = {
  id: readOnly(Type.Integer()),
  name: nullable(text({ maxLength: 400, blank: true }), { default: null }),
  description: nullable(text({ maxLength: 4000, blank: true }), { default: "" }),
  pinned: flag({ default: false }),
  tags: Type.Array(text({ maxLength: 255 }), { default: [], maxItems: limits.tagsMax }),
  deleted: flag({ default: false }),
  created_at: readOnly(moment()),
  created_by: readOnly(nullable(userModel)),
  updated_at: readOnly(moment()),
};

/** Numbers of a layout: far more columns and rows than a dashboard's tiles can fill. */
const placeMax = 10_000;
const place = () => integer({ minimum: 0, maximum: placeMax });

const layout = model("TileLayout", {
  x: place(),
  y: place(),
  w: place(),
  h: place(),
});

const layouts = model("TileLayouts", {
  sm: Type.Optional(nullable(layout, { description: "In a grid of twelve columns." })),
  xs: Type.Optional(nullable(layout, { description: "In a narrow window: a grid of one column." })),
});

/** A dashboard as lists show it. */
export const dashboardRowModel = model("DashboardBasic", properties);

export const dashboardModel = model("Dashboard", {
  ...properties,
  tiles: readOnly(
    Type.Array(
      model("DashboardTile", {
        id: Type.Integer(),
        layouts,
        insight: Type.Unknown({ "x-shown": modelNamed("Insight") }),
      }),
      { description: "Put there by an insight's `dashboards`." },
    ),
  ),
});

export type Dashboard = Static<typeof dashboardRowModel>;

export const dashboardBody = writable(dashboardModel);

/** A change may say where tiles stand, too; which tiles there are is said by the insights' `dashboards`. */
export const dashboardChangeBody = Type.Object(
  {
    ...dashboardBody.properties,
    tiles: Type.Optional(
      Type.Array(model("DashboardTileRequest", { id: reference(), layouts }), {
        description: "Where tiles stand. Tiles that are not named stay where they are.",
        maxItems: limits.insightsPerDashboardMax,
      }),
    ),
  },
  { title: "DashboardChangeRequest" },
);

export type DashboardInput = CreateInput<typeof dashboardBody>;
export type DashboardUpdate = UpdateInput<typeof dashboardChangeBody>;
export type TileLayouts = Static<typeof layouts>;

// What a dashboard looks like in a reply, and what of it can be set. Its insights are described in their own room.

import Type, { type Static } from "typebox";
import { limits } from "../core/limits.ts";
import {
  type UpdateInput,
  flag,
  model,
  moment,
  nullable,
  readOnly,
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

/** A dashboard as lists show it. */
export const dashboardRowModel = model("DashboardBasic", properties);

export const dashboardModel = model("Dashboard", {
  ...properties,
  tiles: readOnly(
    Type.Array(
      model("DashboardTile", {
        id: Type.Integer(),
        insight: Type.Unknown({ "x-shown": modelNamed("Insight") }),
      }),
      { description: "Put there by an insight's `dashboards`." },
    ),
  ),
});

export type Dashboard = Static<typeof dashboardRowModel>;

export const dashboardBody = writable(dashboardModel);

export type DashboardInput = CreateInput<typeof dashboardBody>;
export type DashboardUpdate = UpdateInput<typeof dashboardBody>;

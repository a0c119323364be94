// A dashboard in replies, and the fields that can be set. The room of insights describes its insights.

import Type, { type Static } from "typebox";
import { limits } from "../core/limits.ts";
import { modelNamed } from "../http/docs/models.ts";
import {
  type CreateInput,
  flag,
  integer,
  line,
  model,
  moment,
  nullable,
  readOnly,
  reference,
  strictModel,
  text,
  unsupported,
  type UpdateInput,
  writable,
} from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { dashboardLimits } from "./limits.ts";

const properties = {
  id: readOnly(Type.Integer()),
  name: nullable(line({ maxLength: 400, blank: true }), { default: null }),
  description: nullable(text({ maxLength: 4000, blank: true }), { default: "" }),
  pinned: flag({ default: false }),
  tags: Type.Array(line({ maxLength: 255 }), { default: [], maxItems: limits.tagsMax }),
  deleted: flag({ default: false }),
  created_at: readOnly(moment()),
  created_by: readOnly(nullable(userModel)),
  updated_at: readOnly(moment()),
};

/** Numbers of a layout: far more columns and rows than a dashboard's tiles can fill. */
const gridMax = 10_000;
const gridNumber = () => integer({ minimum: 0, maximum: gridMax });

const layoutModel = model("TileLayout", {
  x: gridNumber(),
  y: gridNumber(),
  w: gridNumber(),
  h: gridNumber(),
  minW: Type.Optional(gridNumber()),
  minH: Type.Optional(gridNumber()),
});
const layout = strictModel("TileLayout", layoutModel.properties, layoutModel);

const layoutsModel = model("TileLayouts", {
  sm: Type.Optional(nullable(layout, { description: "In a grid of twelve columns." })),
  xs: Type.Optional(nullable(layout, { description: "In a narrow window: a grid of one column." })),
});
const layouts = strictModel("TileLayouts", layoutsModel.properties, layoutsModel);

const color = () =>
  nullable(text({ maxLength: 400, blank: true }), { description: "Of the tile's background." });
const show_description = () => nullable(flag(), { description: "Stored for clients that draw the tile." });

const textModel = model("DashboardText", {
  id: Type.Integer({ description: "The tile's." }),
  body: Type.String({ description: "Markdown." }),
  created_by: nullable(userModel),
  last_modified_by: nullable(userModel),
  last_modified_at: moment(),
});

const tileModel = model("DashboardTile", {
  id: Type.Integer(),
  layouts,
  color: color(),
  show_description: show_description(),
  order: Type.Integer({ description: "Its number from the top, row by row." }),
  insight: Type.Unknown({ "x-shown": { oneOf: [modelNamed("Insight"), { type: "null" }] } }),
  text: nullable(textModel, { description: "Of a tile without an insight." }),
  last_refresh: nullable(moment()),
  is_cached: Type.Boolean(),
});
export type Tile = Static<typeof tileModel>;

export const dashboardRowModel = model("DashboardBasic", properties);

export const dashboardModel = model("Dashboard", {
  ...properties,
  tiles: readOnly(
    Type.Array(tileModel, {
      description: "Insights are added by their `dashboards`, texts by `tiles` of a PATCH.",
    }),
  ),
});

export type Dashboard = Static<typeof dashboardRowModel>;

const ofOwn = "Filters and variables of a dashboard are not supported; its insights have their own.";
const refused = {
  filters: unsupported(ofOwn),
  variables: unsupported(ofOwn),
  use_template: unsupported("Templates are not supported."),
  use_dashboard: unsupported("Dashboards cannot be copied."),
  duplicate_tiles: unsupported("Tiles cannot be copied."),
  delete_insights: unsupported("Insights are deleted by themselves: send them deleted: true."),
  quick_filter_ids: unsupported(ofOwn),
  restriction_level: unsupported("Whoever may write dashboards may change all: only 21 is accepted.", [21]),
};

export const dashboardBody = strictModel(
  "DashboardRequest",
  {
    ...writable(dashboardModel).properties,
    ...refused,
    tiles: unsupported("Tiles are made when there is a dashboard: send them in a PATCH."),
  },
  dashboardModel,
);

/** PostHog's clients send whole tiles back: the other fields of a tile are ignored. */
const tileBody = strictModel(
  "DashboardTileRequest",
  {
    id: Type.Optional(reference({ description: "Without one, a tile with the text is created." })),
    text: Type.Optional(
      nullable(
        strictModel(
          "DashboardTextRequest",
          {
            id: Type.Optional(reference()),
            body: Type.Optional(
              nullable(text({ maxLength: dashboardLimits.textCharsMax, blank: true }), {
                description: "Markdown. Consoles may show it as it is.",
                examples: ["## Key metrics"],
              }),
            ),
          },
          textModel,
        ),
      ),
    ),
    layouts: Type.Optional(layouts),
    color: Type.Optional(color()),
    show_description: Type.Optional(show_description()),
    deleted: Type.Optional(flag({ description: "true: removes the tile, not its insight." })),
    filters_overrides: unsupported("Filters of a tile are not supported."),
    button_tile: unsupported("Buttons are not supported."),
  },
  tileModel,
);

/** A change may change tiles, too; which insights are shown is set by the insights' `dashboards`. */
export const dashboardChangeBody = strictModel(
  "DashboardChangeRequest",
  {
    ...writable(dashboardModel).properties,
    ...refused,
    tiles: Type.Optional(
      Type.Array(tileBody, {
        description: "Tiles to create, change or remove. Other tiles stay as they are.",
        maxItems: dashboardLimits.tilesMax,
      }),
    ),
  },
  dashboardModel,
);

export type DashboardInput = CreateInput<typeof dashboardBody>;
export type DashboardUpdate = UpdateInput<typeof dashboardChangeBody>;

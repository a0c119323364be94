// A dashboard in replies, and the fields that can be set. The room of insights describes its insights.

import Type, { type Static, type TSchema, type TUnsafe } from "typebox";
import { limits } from "../core/limits.ts";
import { modelNamed } from "../http/docs/models.ts";
import * as field from "../http/fields/field.ts";
import { userModel } from "../http/fields/user.ts";
import { dashboardLimits } from "./limits.ts";

const ofOwn = "Filters and variables of a dashboard are not supported; its insights have their own.";

/** PostHog's fields whose value is always the same here: whoever may write dashboards may change all. */
export const fixedValues = {
  restriction_level: 21,
  effective_restriction_level: 21,
  effective_privilege_level: 37,
  user_access_level: "editor",
  access_control_version: "v2",
  filters: {},
  variables: {},
  persisted_filters: null,
  persisted_variables: null,
  breakdown_colors: null,
  data_color_theme_id: null,
  quick_filter_ids: null,
  last_refresh: null,
} as const;
type Fixed = typeof fixedValues;
function fixedSchema(name: string, value: unknown): TSchema {
  const description = "Always null.";
  if (name.startsWith("last_")) return field.nullable(field.moment(), { description });
  if (value === null) return field.nullable(Type.Object({}), { description });
  return typeof value === "object" ? field.emptyObject(ofOwn) : Type.Literal(value as string);
}
const fixedFields = Object.fromEntries(
  Object.entries(fixedValues).map(([name, value]) => [name, field.readOnly(fixedSchema(name, value))]),
) as unknown as { [Name in keyof Fixed]: ReturnType<typeof field.readOnly<TUnsafe<Fixed[Name]>>> };

const orderedBy = ["name", "created_at", "updated_at", "last_accessed_at", "pinned"] as const;
export const dashboardOrders = orderedBy.flatMap((field) => [field, `-${field}`] as const);

const properties = {
  id: field.readOnly(Type.Integer()),
  name: field.nullable(field.line({ maxLength: 400, blank: true }), { default: null }),
  description: field.nullable(field.text({ maxLength: 4000, blank: true }), { default: "" }),
  pinned: field.flag({ default: false }),
  tags: Type.Array(field.line({ maxLength: 255 }), { default: [], maxItems: limits.tagsMax }),
  deleted: field.flag({ default: false }),
  created_at: field.readOnly(field.moment()),
  created_by: field.readOnly(field.nullable(userModel)),
  updated_at: field.readOnly(field.moment()),
  creation_mode: field.readOnly(field.choice(["default", "duplicate"])),
  is_shared: field.readOnly(Type.Boolean({ description: "Whether a link shows it." })),
  team_id: field.readOnly(Type.Integer({ description: "The project's." })),
  last_accessed_at: field.readOnly(
    field.nullable(field.moment(), { description: "When it was last read by itself, to the minute." }),
  ),
  ...fixedFields,
};

/** Numbers of a layout: far more columns and rows than a dashboard's tiles can fill. */
const gridMax = 10_000;
const gridNumber = () => field.integer({ minimum: 0, maximum: gridMax });

const layoutModel = field.model("TileLayout", {
  x: gridNumber(),
  y: gridNumber(),
  w: gridNumber(),
  h: gridNumber(),
  minW: Type.Optional(gridNumber()),
  minH: Type.Optional(gridNumber()),
});
const layout = field.strictModel("TileLayout", layoutModel.properties, layoutModel);

const layoutsModel = field.model("TileLayouts", {
  sm: Type.Optional(field.nullable(layout, { description: "In a grid of twelve columns." })),
  xs: Type.Optional(field.nullable(layout, { description: "In a narrow window: a grid of one column." })),
});
const layouts = field.strictModel("TileLayouts", layoutsModel.properties, layoutsModel);

const color = () =>
  field.nullable(field.text({ maxLength: 400, blank: true }), { description: "Of the tile's background." });
const show_description = () =>
  field.nullable(field.flag(), { description: "Stored for clients that draw the tile." });

const textModel = field.model("DashboardText", {
  id: Type.Integer({ description: "The tile's." }),
  body: Type.String({ description: "Markdown." }),
  created_by: field.nullable(userModel),
  last_modified_by: field.nullable(userModel),
  last_modified_at: field.moment(),
  team: Type.Integer({ description: "The project's." }),
});

export const tileModel = field.model("DashboardTile", {
  id: Type.Integer(),
  layouts,
  color: color(),
  show_description: show_description(),
  order: Type.Integer({ description: "Its number from the top, row by row." }),
  insight: Type.Unknown({ "x-shown": { oneOf: [modelNamed("Insight"), { type: "null" }] } }),
  text: field.nullable(textModel, { description: "Of a tile without an insight." }),
  last_refresh: field.nullable(field.moment()),
  refreshing: Type.Boolean({ description: "Always false: nothing is computed after a reply." }),
  refresh_attempt: field.nullable(Type.Integer(), { description: "Always null." }),
  filters_overrides: field.emptyObject("Filters of a tile are not supported."),
  is_cached: Type.Boolean(),
});
export type Tile = Static<typeof tileModel>;

export const dashboardRowModel = field.model("DashboardBasic", properties);

export const dashboardModel = field.model("Dashboard", {
  ...properties,
  tiles: field.readOnly(
    Type.Array(tileModel, {
      description: "Insights are added by their `dashboards`, texts by `tiles` of a PATCH.",
    }),
  ),
});

export type Dashboard = Static<typeof dashboardRowModel>;

const refused = {
  filters: field.unsupported(ofOwn),
  variables: field.unsupported(ofOwn),
  use_template: field.unsupported("Templates are not supported."),
  quick_filter_ids: field.unsupported(ofOwn),
  restriction_level: field.unsupported(
    "Whoever may write dashboards may change all: only 21 is accepted.",
    [21],
  ),
};

function bodyWith<Further extends Record<string, TSchema>>(title: string, further: Further) {
  const { properties: writableProperties } = field.writable(dashboardModel);
  return field.strictModel(title, { ...writableProperties, ...refused, ...further }, dashboardModel);
}

export const dashboardBody = bodyWith("DashboardRequest", {
  use_dashboard: Type.Optional(
    field.nullable(field.reference({ description: "The dashboard whose tiles are copied." })),
  ),
  duplicate_tiles: Type.Optional(
    field.nullable(field.flag(), {
      description: "With `use_dashboard`: its insights are copied, too; scope `insight:write`.",
    }),
  ),
  delete_insights: field.unsupported("Insights are deleted with their dashboard: send it in a PATCH."),
  tiles: field.unsupported("Tiles are made when there is a dashboard: send them in a PATCH."),
});

/** PostHog's clients send whole tiles back: the other fields of a tile are ignored. */
const tileBody = field.strictModel(
  "DashboardTileRequest",
  {
    id: Type.Optional(field.reference({ description: "Without one, a tile with the text is created." })),
    text: Type.Optional(
      field.nullable(
        field.strictModel(
          "DashboardTextRequest",
          {
            id: Type.Optional(field.reference()),
            body: Type.Optional(
              field.nullable(field.text({ maxLength: dashboardLimits.textCharsMax, blank: true }), {
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
    deleted: Type.Optional(
      field.flag({
        description: "true: removes the tile, not its insight; false: brings a removed one back.",
      }),
    ),
    filters_overrides: field.unsupported("Filters of a tile are not supported."),
    button_tile: field.unsupported("Buttons are not supported."),
  },
  tileModel,
);

/** A change may change tiles, too; which insights are shown is set by the insights' `dashboards`. */
export const dashboardChangeBody = bodyWith("DashboardChangeRequest", {
  use_dashboard: field.unsupported("A dashboard is copied when one is made: send it in a POST."),
  duplicate_tiles: Type.Optional(
    Type.Array(
      field.strictModel(
        "DuplicatedTile",
        { id: field.reference(), layouts: Type.Optional(layouts) },
        tileModel,
      ),
      {
        description: "Tiles to copy, insights as well; scope `insight:write`.",
        maxItems: dashboardLimits.tilesMax,
      },
    ),
  ),
  delete_insights: Type.Optional(
    field.nullable(field.flag(), {
      description: "With `deleted`: also insights that no other dashboard shows; scope `insight:write`.",
    }),
  ),
  tiles: Type.Optional(
    Type.Array(tileBody, {
      description: "Tiles to create, change or remove. Other tiles stay as they are.",
      maxItems: dashboardLimits.tilesMax,
    }),
  ),
});

const tileIdentity = { tile_id: field.reference({ description: "A tile of this dashboard." }) };
const look = { layouts: Type.Optional(layouts), color: Type.Optional(color()) };
const text = () => field.text({ maxLength: dashboardLimits.textCharsMax, description: "Markdown." });

/** Bodies of PostHog's operations on one tile. */
export const newTextBody = field.strictModel("NewTextTile", { body: text(), ...look });
export const changedTextBody = field.strictModel("ChangedTextTile", {
  ...tileIdentity,
  body: Type.Optional(text()),
  ...look,
});
export const removedTileBody = field.strictModel("RemovedTile", tileIdentity);
export const copiedTileBody = field.strictModel("CopiedTile", {
  fromDashboardId: field.reference({ description: "The dashboard that has the tile." }),
  tileId: field.reference(),
});
export const movedTileBody = field.strictModel("MovedTile", {
  tile: field.strictModel("MovedTileIdentity", { id: field.reference() }, tileModel),
  to_dashboard: Type.Optional(field.reference({ description: "The dashboard that gets the tile." })),
  toDashboard: Type.Optional(field.reference({ description: "The same, as PostHog's console calls it." })),
});
export const tileOrderBody = field.strictModel("TileOrder", {
  tile_order: Type.Array(field.reference(), { minItems: 1, maxItems: dashboardLimits.tilesMax }),
  layout: field.choice(["preserve", "two_column", "full_width"], {
    default: "preserve",
    description: "preserve: tiles keep their sizes.",
  }),
});

export type MovedTile = field.UpdateInput<typeof movedTileBody>;
export type DashboardInput = field.CreateInput<typeof dashboardBody>;
export type DashboardUpdate = field.UpdateInput<typeof dashboardChangeBody>;

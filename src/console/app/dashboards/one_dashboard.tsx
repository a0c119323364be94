// One dashboard: its tiles, and buttons to arrange them without a mouse.

import { useEffect, useRef, useState } from "preact/hooks";
import { ownVisits, ranges } from "../explore/choices.ts";
import { AddCondition, OwnFilters } from "../filters/condition_fields.tsx";
import { insightName, type InsightRow } from "../insights/insight_row.tsx";
import type { ListReply } from "../session/api.ts";
import { navigate, type Route } from "../session/route.ts";
import { useAllowed, useHref, useSession } from "../session/session.ts";
import { type Action, type Loaded, useAction, useGet } from "../session/use_loaded.ts";
import { ChartPlace } from "../ui/chart/notes.tsx";
import { capitalized } from "../ui/format.ts";
import { CheckField, Form, FormCard, RemoveButton } from "../ui/forms.tsx";
import { RangeField, useFields } from "../ui/inputs.tsx";
import { Button, Card, Outcome, PageHead, PageLink, PageWhenLoaded } from "../ui/parts.tsx";
import { Sharing } from "../ui/sharing.tsx";
import { type Layouts, type Shape, toLayouts, toShapes, withChanged, withMoved } from "./layout.ts";
import { readScope, type Scope, scopeAddress } from "./scope.ts";
import { TextTile } from "./text_tile.tsx";
import { TextForm, textName, TileResult, type TileText } from "./tiles.tsx";

export interface DashboardRow {
  id: number;
  name: string | null;
  description: string | null;
  pinned: boolean;
  created_at: string;
  tiles?: readonly Tile[];
}

interface Tile {
  id: number;
  layouts: Layouts;
  /** It shows an insight or a text. */
  insight: InsightRow | null;
  text: TileText | null;
}

function tileName({ insight, text }: Tile): string {
  return insight ? insightName(insight) : textName(text ?? { body: "" });
}

export function dashboardName({ name, id }: DashboardRow): string {
  return name || `Dashboard ${id}`;
}

interface BoardProps {
  path: string;
  dashboard: DashboardRow;
  loaded: Loaded<DashboardRow>;
}

export function OneDashboard({ id, route }: { id: number; route: Route }) {
  const path = `dashboards/${id}/`;
  const loaded = useGet<DashboardRow>(path);
  const scope = readScope(route.query);
  const mayWrite = useAllowed("dashboard:write");
  const [arranging, setArranging] = useState(false);
  const action = useAction();
  const board = (dashboard: DashboardRow) => (
    <>
      <PageHead title={dashboardName(dashboard)}>
        <Button onClick={loaded.reload}>Refresh</Button>
        {mayWrite && (
          <>
            <Button aria-pressed={arranging} onClick={() => setArranging(!arranging)}>
              {arranging ? "Done" : "Arrange"}
            </Button>
            <RemoveButton
              path={path}
              sure="Delete it? Its insights stay."
              action={action}
              back="dashboards"
            />
          </>
        )}
      </PageHead>
      <Outcome action={action} />
      {dashboard.description && <p>{dashboard.description}</p>}
      {arranging && <NameForm {...{ path, dashboard, loaded }} />}
      {arranging && <AddInsight dashboard={dashboard} added={loaded.reload} />}
      {arranging && (
        <Card title="Text beside the insights">
          <TextForm path={path} body="" changed={loaded.reload} />
        </Card>
      )}
      {!dashboard.tiles?.length ? (
        <p class="notice">No insights yet. “Arrange” adds them, texts and the overview of the site.</p>
      ) : (
        <ScopeForm key={JSON.stringify(scope.conditions)} dashboard={dashboard.id} scope={scope} />
      )}
      <ChartPlace.Provider value={{ dashboard: dashboard.id }}>
        <Tiles {...{ path, dashboard, loaded, scope, arranging }} />
      </ChartPlace.Provider>
      <Sharing path={path.slice(0, -1)} what="dashboard" />
    </>
  );
  return (
    <PageWhenLoaded loaded={loaded} title="Dashboard">
      {board}
    </PageWhenLoaded>
  );
}

const overview = "overview";

/** Adds a saved insight, or the figures of the overview as a new one. */
function AddInsight({
  dashboard: { id, tiles = noTiles },
  added,
}: {
  dashboard: DashboardRow;
  added: () => void;
}) {
  const loaded = useGet<ListReply<InsightRow & { dashboards: number[] }>>("insights/", { limit: 500 });
  const { fields, change, choice } = useFields({ what: "" });
  const others = loaded.value?.results.filter((row) => !tiles.some(({ insight }) => insight?.id === row.id));
  const done = () => {
    change({ what: "" });
    loaded.reload();
    added();
  };
  const add = (send: Action["send"]) => {
    const compareFilter = { compare: true };
    const query = {
      kind: "WebOverviewQuery",
      dateRange: { date_from: "-7d" },
      properties: [],
      compareFilter,
    };
    if (fields.what === overview)
      return send("POST", "insights/", { name: "Overview", query, dashboards: [id] }, "Added.", done);
    const before = others?.find((row) => String(row.id) === fields.what)?.dashboards ?? [];
    return send("PATCH", `insights/${fields.what}/`, { dashboards: [...before, id] }, "Added.", done);
  };
  const options = (others ?? []).map((row) => [String(row.id), insightName(row)] as const);
  return (
    <FormCard title="Add to this dashboard" send={add} button="Add" disabled={fields.what === ""}>
      {choice("what", "Insight", [["", "Choose …"], [overview, "The overview of the site"], ...options])}
    </FormCard>
  );
}

function NameForm({ path, dashboard, loaded }: BoardProps) {
  const { fields, text, check } = useFields({
    name: dashboard.name ?? "",
    description: dashboard.description ?? "",
    pinned: dashboard.pinned,
  });
  const body = { ...fields, name: fields.name || null };
  const save = (send: Action["send"]) => send("PATCH", path, body, "Saved.", loaded.reload);
  return (
    <FormCard title="Name and description" send={save} button="Save">
      {text("name", "Name")}
      {text("description", "Description")}
      {check("pinned", "Pinned: first in the list")}
    </FormCard>
  );
}

const scopeRanges = [["", "Each insight’s own range"], ...ranges] as const;

/** The range and the filters of the page: they are in its address, so that a link shows the same. */
function ScopeForm({ dashboard, scope }: { dashboard: number; scope: Scope }) {
  const hrefOf = useHref();
  const [conditions, setConditions] = useState(scope.conditions);
  const show = (next: Scope) => navigate(hrefOf("dashboards", [dashboard], scopeAddress(next)));
  const filters = { conditions, set: setConditions };
  return (
    <Form send={() => show({ ...scope, conditions })}>
      <RangeField
        from={scope.range}
        to={scope.to}
        set={(range, to) => show({ ...scope, range, to, conditions })}
        options={scopeRanges}
      />
      <CheckField
        label={ownVisits}
        value={scope.withoutOwn}
        set={(withoutOwn) => show({ ...scope, conditions, withoutOwn })}
      />
      <AddCondition {...filters} />
      {(conditions.length > 0 || scope.conditions.length > 0) && <Button type="submit">Show</Button>}
      <OwnFilters {...filters} />
    </Form>
  );
}

type Arrange = (next: Shape[], id: number, words: string) => void;

const noTiles: readonly Tile[] = [];

/** Heights of pictures, in pixels. */
const [low, high] = [190, 460];

interface TilesProps extends BoardProps {
  scope: Scope;
  arranging: boolean;
}

function Tiles({ path, dashboard, loaded, scope, arranging }: TilesProps) {
  const { tiles = noTiles } = dashboard;
  const [shapes, setShapes] = useState(() => toShapes(tiles));
  // Somebody else may have arranged them before a reload.
  useEffect(() => setShapes(toShapes(tiles)), [tiles]);
  const { saveLayout, action } = useSavedLayout(path);
  const [announcement, setAnnouncement] = useState("");
  const known = new Map(tiles.map((tile) => [tile.id, tile]));
  const arrange: Arrange = (next, id, words) => {
    const name = tileName(known.get(id)!);
    setShapes(next);
    saveLayout(next);
    setAnnouncement(`${name}: ${words}, ${next.findIndex((item) => item.id === id) + 1} of ${next.length}.`);
  };
  return (
    <>
      <Outcome action={action} />
      <p class="visually-hidden" role="status">
        {announcement}
      </p>
      <div class="tiles">
        {shapes.map((shape) => {
          const tile = known.get(shape.id);
          if (!tile) return null;
          const { id, insight, text } = tile;
          return (
            <section key={id} class={shape.isWide ? "card wide" : "card"}>
              {insight && (
                <h2>
                  <PageLink to={["insights", [insight.id]]}>{insightName(insight)}</PageLink>
                </h2>
              )}
              {arranging && renderTileButtons(shapes, shape, arrange)}
              {insight && (
                <TileResult
                  insight={insight}
                  scope={scope}
                  height={shape.isTall ? high : low}
                  reloaded={tiles}
                />
              )}
              {text && arranging && <TextForm path={path} id={id} body={text.body} changed={loaded.reload} />}
              {text && !arranging && <TextTile text={text.body} />}
            </section>
          );
        })}
      </div>
    </>
  );
}

/** Saves the layout through the API, one request after the other, so that the last change wins. */
function useSavedLayout(path: string): { saveLayout: (shapes: readonly Shape[]) => void; action: Action } {
  const { api } = useSession();
  const action = useAction();
  const before = useRef<Promise<unknown>>(Promise.resolve());
  const saveLayout = (shapes: readonly Shape[]) => {
    const body = { tiles: toLayouts(shapes) };
    const saveRequest = before.current.then(() => api.send("PATCH", path, body));
    before.current = saveRequest.catch(() => undefined);
    action.run(async () => {
      await saveRequest;
      return "";
    });
  };
  return { saveLayout, action };
}

/** @param arrange shows and saves the next shapes, and announces what became of a tile. */
function renderTileButtons(shapes: readonly Shape[], { id, isWide, isTall }: Shape, arrange: Arrange) {
  const at = shapes.findIndex((item) => item.id === id);
  const acts = [
    ["earlier", "earlier", at > 0, withMoved(shapes, id, -1), "moved earlier"],
    ["later", "later", at < shapes.length - 1, withMoved(shapes, id, 1), "moved later"],
    ["width", isWide ? "narrower" : "wider", true, withChanged(shapes, id, { isWide: !isWide })],
    ["height", isTall ? "lower" : "taller", true, withChanged(shapes, id, { isTall: !isTall })],
  ] as const;
  return (
    <p class="page-actions" role="group" aria-label="Arrange this tile">
      {acts.map(([name, way, isPossible, next, words = way]) => (
        <Button
          key={name}
          id={`tile-${id}-${name}`}
          // Not `disabled`: the button would lose the focus.
          aria-disabled={!isPossible}
          onClick={() => isPossible && arrange(next, id, words)}
        >
          {capitalized(way)}
        </Button>
      ))}
    </p>
  );
}

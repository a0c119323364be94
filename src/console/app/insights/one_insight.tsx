// One insight: its current result, a link to edit its query, its name, and the dashboards that show it.

import { useState } from "preact/hooks";
import { toAddress } from "../explore/query.ts";
import { toFormQuery } from "../explore/saved_query.ts";
import { useMaySave } from "../explore/saving.tsx";
import type { ListReply } from "../session/api.ts";
import { useAllowed, useOpen } from "../session/session.ts";
import { type Action, useAction, useGet } from "../session/use_loaded.ts";
import { readSavedSql } from "../sql/sql_query.ts";
import { ChoiceField, Form, FormCard, RemoveButton } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Button, Card, Outcome, PageHead, PageLink, PageWhenLoaded } from "../ui/parts.tsx";
import { Sharing } from "../ui/sharing.tsx";
import { insightName, InsightResult, type InsightRow } from "./insight_row.tsx";

/** @param id its number or its short id. */
export function OneInsight({ id }: { id: string }) {
  const path = `insights/${encodeURIComponent(id)}/`;
  const loaded = useGet<InsightRow>(path);
  const maySave = useMaySave();
  const mayAlert = useAllowed("alert:read");
  const action = useAction();
  const part = { path, changed: loaded.reload };
  const favor = ({ favorited }: InsightRow) => {
    const done = favorited ? "Removed from the favorites." : "Added to the favorites.";
    action.send("PATCH", path, { favorited: !favorited }, done, loaded.reload);
  };
  return (
    <PageWhenLoaded loaded={loaded} title="Insight">
      {(insight) => (
        <>
          <PageHead title={insightName(insight)}>
            {maySave && <EditLink insight={insight} />}
            {maySave && (
              <Button
                aria-pressed={insight.favorited}
                disabled={action.running}
                onClick={() => favor(insight)}
              >
                ★ Favorite
              </Button>
            )}
            {maySave && <Duplicate insight={insight} action={action} />}
            {mayAlert && (
              <PageLink class="button" to={["alerts", [], { insight: String(insight.id) }]}>
                Alerts
              </PageLink>
            )}
            <RemoveButton path={path} sure="Delete this insight?" action={action} back="insights" />
          </PageHead>
          <Outcome action={action} />
          <Card>
            {insight.description && <p>{insight.description}</p>}
            <InsightResult insight={insight} />
          </Card>
          {maySave && (
            <div class="cards">
              <NameForm {...part} insight={insight} />
              <OnDashboards {...part} insight={insight} />
            </div>
          )}
          <Sharing path={path.slice(0, -1)} what="insight" />
        </>
      )}
    </PageWhenLoaded>
  );
}

function EditLink({ insight: { id, query } }: { insight: InsightRow }) {
  if (readSavedSql(query))
    return (
      <PageLink class="button" to={["sql", [], { insight: String(id) }]}>
        Edit query
      </PageLink>
    );
  const formQuery = toFormQuery(query);
  if (!formQuery)
    return <span class="quiet">Its query has more than the form can show. Change it through the API.</span>;
  return (
    <PageLink class="button" to={["explore", [], `insight=${id}&${toAddress(formQuery)}`]}>
      Edit query
    </PageLink>
  );
}

/** Creates a copy, on no dashboard, and opens it. */
function Duplicate({ insight, action }: { insight: InsightRow; action: Action }) {
  const open = useOpen("insights");
  const { query, description } = insight;
  const body = { name: `${insightName(insight)} (copy)`, description, query };
  return (
    <Button disabled={action.running} onClick={() => action.send("POST", "insights/", body, "Copied.", open)}>
      Duplicate
    </Button>
  );
}

interface PartProps {
  insight: InsightRow;
  path: string;
  changed: () => void;
}

function NameForm({ insight, path, changed }: PartProps) {
  const { fields, text } = useFields({ name: insight.name ?? "", description: insight.description ?? "" });
  const body = { ...fields, name: fields.name || null };
  const save = (send: Action["send"]) => send("PATCH", path, body, "Saved.", changed);
  return (
    <FormCard title="Name and description" send={save} button="Save">
      {text("name", "Name", { placeholder: insight.derived_name ?? "" })}
      {text("description", "Description")}
    </FormCard>
  );
}

function OnDashboards({ insight, path, changed }: PartProps) {
  const boards = useGet<ListReply<{ id: number; name: string | null }>>("dashboards/", { limit: 200 });
  const [chosen, setChosen] = useState("");
  const action = useAction();
  const show = (dashboards: number[], done: string) =>
    action.send("PATCH", path, { dashboards }, done, () => {
      setChosen("");
      changed();
    });
  const names = new Map(boards.value?.results.map(({ id, name }) => [id, name || `Dashboard ${id}`]));
  const nameDashboard = (id: number) => names.get(id) ?? `Dashboard ${id}`;
  const offers = [...names].filter(([id]) => !insight.dashboards.includes(id));
  return (
    <Card title="Dashboards">
      {insight.dashboards.length === 0 && <p class="quiet">No dashboard shows it.</p>}
      <ul class="rows">
        {insight.dashboards.map((id) => (
          <li key={id}>
            <PageLink to={["dashboards", [id]]}>{nameDashboard(id)}</PageLink>
            <Button
              aria-label={`Remove from ${nameDashboard(id)}`}
              disabled={action.running}
              onClick={() =>
                show(
                  insight.dashboards.filter((item) => item !== id),
                  `Removed from ${nameDashboard(id)}.`,
                )
              }
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {offers.length > 0 && (
        <Form send={() => show([...insight.dashboards, Number(chosen)], "Added to the dashboard.")}>
          <ChoiceField
            label="Put it on"
            value={chosen}
            set={setChosen}
            options={[["", "Choose a dashboard"], ...offers.map(([id, name]) => [String(id), name] as const)]}
          />
          <Button type="submit" disabled={action.running || chosen === ""}>
            Put it there
          </Button>
        </Form>
      )}
      <Outcome action={action} />
    </Card>
  );
}

// Saved questions: listed, shown with their answer of now, put on dashboards, deleted.

import { useState } from "preact/hooks";
import { ResultView } from "../explore/result_view.tsx";
import type { Results } from "../explore/results.ts";
import type { ListReply } from "../session/api.ts";
import { type Route, go, hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { Button, Card, ChoiceField, Form, Outcome, PageHead, Shown, SureButton } from "../ui/parts.tsx";
import { Pager, Table } from "../ui/table.tsx";

export interface InsightRow {
  id: number;
  name: string | null;
  derived_name: string | null;
  description: string | null;
  dashboards: number[];
  result: Results | null;
  columns: string[] | null;
  query_status: { error: boolean; error_message: string | null } | null;
  last_modified_at: string;
}

export function insightName({ name, derived_name, id }: InsightRow): string {
  return name || derived_name || `Insight ${id}`;
}

export function Insights({ route }: { route: Route }) {
  const id = Number(route.more[0]);
  return id > 0 ? <OneInsight key={id} id={id} /> : <InsightList />;
}

const limit = 50;

function InsightList() {
  const { api, home, project } = useSession();
  const [offset, setOffset] = useState(0);
  const asked = useLoaded(
    (signal) => api.get<ListReply<InsightRow>>(`${home}/insights/`, { limit, offset }, signal),
    [home, offset],
  );
  return (
    <>
      <PageHead title="Insights">
        <a href={hrefOf(project.id, "explore")}>Make one by exploring</a>
      </PageHead>
      <Card>
        <Shown asked={asked}>
          {({ results, count }) => (
            <>
              <Table
                caption="Insights"
                rows={results}
                id={(row) => row.id}
                empty="None yet: explore, and save what you found."
                columns={[
                  {
                    name: "Name",
                    cell: (row) => <a href={hrefOf(project.id, "insights", [row.id])}>{insightName(row)}</a>,
                  },
                  { name: "Dashboards", cell: (row) => row.dashboards.length, number: true },
                  { name: "Changed", cell: (row) => agoText(row.last_modified_at), number: true },
                ]}
              />
              <Pager offset={offset} limit={limit} count={count} set={setOffset} />
            </>
          )}
        </Shown>
      </Card>
    </>
  );
}

function OneInsight({ id }: { id: number }) {
  const { api, home, project } = useSession();
  const asked = useLoaded((signal) => api.get<InsightRow>(`${home}/insights/${id}/`, {}, signal), [home, id]);
  const mayWrite = useAllowed("insight:write");
  const action = useAction();
  const remove = () =>
    action.run(async () => {
      await api.send("DELETE", `${home}/insights/${id}/`);
      go(hrefOf(project.id, "insights"));
      return "Deleted.";
    });
  return (
    <Shown asked={asked}>
      {(insight) => (
        <>
          <PageHead title={insightName(insight)}>
            {mayWrite && <SureButton label="Delete" sure="Delete this insight?" act={remove} />}
          </PageHead>
          <Outcome action={action} />
          <Card>
            {insight.description && <p>{insight.description}</p>}
            <InsightResult insight={insight} />
          </Card>
          {mayWrite && <OnDashboard insight={insight} changed={asked.again} />}
        </>
      )}
    </Shown>
  );
}

export function InsightResult({ insight, small = false }: { insight: InsightRow; small?: boolean }) {
  const { result, columns, query_status } = insight;
  if (query_status?.error)
    return <p class="notice bad">{query_status.error_message ?? "Its query failed."}</p>;
  return <ResultView results={result ?? []} small={small} columns={columns ?? []} />;
}

function OnDashboard({ insight, changed }: { insight: InsightRow; changed: () => void }) {
  const { api, home } = useSession();
  const boards = useLoaded(
    (signal) =>
      api.get<ListReply<{ id: number; name: string | null }>>(`${home}/dashboards/`, { limit: 200 }, signal),
    [home],
  );
  const [chosen, setChosen] = useState("");
  const action = useAction();
  const put = () =>
    action.run(async () => {
      const dashboards = [...new Set([...insight.dashboards, Number(chosen)])];
      await api.send("PATCH", `${home}/insights/${insight.id}/`, { dashboards });
      changed();
      return "It is on the dashboard.";
    });
  const there = boards.value?.results ?? [];
  const options = there
    .filter(({ id }) => !insight.dashboards.includes(id))
    .map(({ id, name }) => [String(id), name || `Dashboard ${id}`] as const);
  return (
    <Card title="Dashboards">
      <Form send={put}>
        <ChoiceField
          label="Put it on"
          value={chosen}
          set={setChosen}
          options={[["", "Choose a dashboard"], ...options]}
        />
        <Button type="submit" disabled={action.running || chosen === ""}>
          Put it there
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

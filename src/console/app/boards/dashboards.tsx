// Dashboards: insights side by side.

import { useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { type Route, go, hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { Button, Card, Form, Outcome, PageHead, Shown, SureButton, TextField } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { InsightResult, insightName, type InsightRow } from "./insights.tsx";

interface DashboardRow {
  id: number;
  name: string | null;
  description: string | null;
  pinned: boolean;
  created_at: string;
  tiles?: { id: number; insight: InsightRow }[];
}

export function Dashboards({ route }: { route: Route }) {
  const id = Number(route.more[0]);
  return id > 0 ? <OneDashboard key={id} id={id} /> : <DashboardList />;
}

function dashboardName({ name, id }: DashboardRow): string {
  return name || `Dashboard ${id}`;
}

function DashboardList() {
  const { api, home, project } = useSession();
  const asked = useLoaded(
    (signal) => api.get<ListReply<DashboardRow>>(`${home}/dashboards/`, { limit: 500 }, signal),
    [home],
  );
  const mayWrite = useAllowed("dashboard:write");
  return (
    <>
      <PageHead title="Dashboards" />
      <Card>
        <Shown asked={asked}>
          {({ results }) => (
            <Table
              caption="Dashboards"
              rows={results}
              id={(row) => row.id}
              empty="None yet."
              columns={[
                {
                  name: "Name",
                  cell: (row) => (
                    <a href={hrefOf(project.id, "dashboards", [row.id])}>{dashboardName(row)}</a>
                  ),
                },
                { name: "Pinned", cell: (row) => (row.pinned ? "yes" : "") },
                { name: "Made", cell: (row) => agoText(row.created_at), number: true },
              ]}
            />
          )}
        </Shown>
      </Card>
      {mayWrite && <NewDashboard />}
    </>
  );
}

function NewDashboard() {
  const { api, home, project } = useSession();
  const [name, setName] = useState("");
  const action = useAction();
  const make = () =>
    action.run(async () => {
      const { id } = await api.send<DashboardRow>("POST", `${home}/dashboards/`, { name });
      go(hrefOf(project.id, "dashboards", [id]));
      return "Made.";
    });
  return (
    <Card title="A new dashboard">
      <Form send={make}>
        <TextField label="Name of the dashboard" value={name} set={setName} required />
        <Button type="submit" disabled={action.running}>
          Make it
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

function OneDashboard({ id }: { id: number }) {
  const { api, home, project } = useSession();
  const seesResults = useAllowed("insight:read");
  const asked = useLoaded(
    (signal) => api.get<DashboardRow>(`${home}/dashboards/${id}/`, { refresh: seesResults }, signal),
    [home, id],
  );
  const mayWrite = useAllowed("dashboard:write");
  const action = useAction();
  const remove = () =>
    action.run(async () => {
      await api.send("DELETE", `${home}/dashboards/${id}/`);
      go(hrefOf(project.id, "dashboards"));
      return "Deleted.";
    });
  return (
    <Shown asked={asked}>
      {(dashboard) => (
        <>
          <PageHead title={dashboardName(dashboard)}>
            <Button onClick={asked.again}>Refresh</Button>
            {mayWrite && <SureButton label="Delete" sure="Delete it? Its insights stay." act={remove} />}
          </PageHead>
          <Outcome action={action} />
          {dashboard.description && <p>{dashboard.description}</p>}
          {dashboard.tiles?.length === 0 && (
            <p class="notice">
              Nothing on it yet. Open an <a href={hrefOf(project.id, "insights")}>insight</a> and put it here.
            </p>
          )}
          <div class="tiles">
            {dashboard.tiles?.map(({ id: tile, insight }) => (
              <section key={tile} class="card">
                <h2>
                  <a href={hrefOf(project.id, "insights", [insight.id])}>{insightName(insight)}</a>
                </h2>
                {seesResults && <InsightResult insight={insight} small />}
              </section>
            ))}
          </div>
        </>
      )}
    </Shown>
  );
}

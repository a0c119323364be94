// Dashboards: insights side by side. Listed, each with a page of its own.

import { useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { type Route, go, hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { ListPage } from "../ui/list_page.tsx";
import { Button, Card, Form, Outcome, TextField } from "../ui/parts.tsx";
import { dashboardName, type DashboardRow, OneDashboard } from "./one_dashboard.tsx";

export function Dashboards({ route }: { route: Route }) {
  const id = Number(route.more[0]);
  return id > 0 ? <OneDashboard key={id} id={id} /> : <DashboardList />;
}

function DashboardList() {
  const { api, home, project } = useSession();
  const asked = useLoaded(
    (signal) => api.get<ListReply<DashboardRow>>(`${home}/dashboards/`, { limit: 500 }, signal),
    [home],
  );
  const mayWrite = useAllowed("dashboard:write");
  return (
    <ListPage
      title="Dashboards"
      asked={asked}
      id={(row) => row.id}
      empty="No dashboards yet."
      columns={[
        {
          name: "Name",
          cell: (row) => <a href={hrefOf(project.id, "dashboards", [row.id])}>{dashboardName(row)}</a>,
        },
        { name: "Pinned", cell: (row) => (row.pinned ? "yes" : "no") },
        { name: "Created", cell: (row) => agoText(row.created_at), number: true },
      ]}
    >
      {mayWrite && <NewDashboard />}
    </ListPage>
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
      return "Created.";
    });
  return (
    <Card title="New dashboard">
      <Form send={make}>
        <TextField label="Name of the dashboard" value={name} set={setName} required />
        <Button type="submit" disabled={action.running}>
          Create
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

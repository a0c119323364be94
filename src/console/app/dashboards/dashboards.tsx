// Dashboards: insights side by side. Listed, each with a page of its own.

import type { Route } from "../session/route.ts";
import { useAllowed, useOpen } from "../session/session.ts";
import { type Action, useList } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { NoSuch, PageLink } from "../ui/parts.tsx";
import { dashboardName, type DashboardRow, OneDashboard } from "./one_dashboard.tsx";

export function Dashboards({ route }: { route: Route }) {
  const [text] = route.more;
  if (text === undefined) return <DashboardList />;
  const id = Number(text);
  if (!(id > 0)) return <NoSuch title="Dashboards" what="dashboard" name={text} />;
  return <OneDashboard key={id} id={id} route={route} />;
}

function DashboardList() {
  const list = useList<DashboardRow>("dashboards/", 500);
  const mayWrite = useAllowed("dashboard:write");
  return (
    <ListPage
      title="Dashboards"
      {...list}
      empty="No dashboards yet."
      columns={({ column, numberColumn }) => [
        column("Name", (row) => <PageLink to={["dashboards", [row.id]]}>{dashboardName(row)}</PageLink>),
        column("Pinned", (row) => (row.pinned ? "yes" : "no")),
        numberColumn("Created", (row) => agoText(row.created_at)),
      ]}
    >
      {mayWrite && <NewDashboard />}
    </ListPage>
  );
}

function NewDashboard() {
  const open = useOpen("dashboards");
  const { fields, text } = useFields({ name: "" });
  const make = (send: Action["send"]) => send("POST", "dashboards/", fields, "Created.", open);
  return (
    <FormCard title="New dashboard" send={make}>
      {text("name", "Name of the dashboard", { required: true })}
    </FormCard>
  );
}

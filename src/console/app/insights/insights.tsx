// Saved questions: listed, each with a page of its own.

import { hrefOf, type Route } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useList } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { ListPage } from "../ui/list_page.tsx";
import { insightName, type InsightRow } from "./insight_row.tsx";
import { OneInsight } from "./one_insight.tsx";

export function Insights({ route }: { route: Route }) {
  const id = Number(route.more[0]);
  return id > 0 ? <OneInsight key={id} id={id} /> : <InsightList />;
}

function InsightList() {
  const { project } = useSession();
  const list = useList<InsightRow>("insights/", 50);
  return (
    <ListPage
      title="Insights"
      {...list}
      id={(row) => row.id}
      empty="No insights yet. Explore, and save what you find."
      actions={<a href={hrefOf(project.id, "explore")}>Make one by exploring</a>}
      columns={[
        {
          name: "Name",
          cell: (row) => <a href={hrefOf(project.id, "insights", [row.id])}>{insightName(row)}</a>,
        },
        { name: "Dashboards", cell: (row) => row.dashboards.length, number: true },
        { name: "Changed", cell: (row) => agoText(row.last_modified_at), number: true },
      ]}
    />
  );
}

// Saved queries: listed, each with a page of its own.

import type { Route } from "../session/route.ts";
import { useList } from "../session/use_loaded.ts";
import { CheckField, Form } from "../ui/forms.tsx";
import { useDraft } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { Button, Cut, PageLink, Time } from "../ui/parts.tsx";
import { unwrapQuery } from "../values.ts";
import { insightName, type InsightRow } from "./insight_row.tsx";
import { OneInsight } from "./one_insight.tsx";

export function Insights({ route }: { route: Route }) {
  const [text] = route.more;
  if (text === undefined) return <InsightList />;
  return <OneInsight key={text} id={text} />;
}

/** The API's types of insights, as people call them. */
const types = [
  ["", "All kinds"],
  ["TRENDS", "Trends"],
  ["FUNNELS", "Funnels"],
  ["RETENTION", "Retention"],
  ["LIFECYCLE", "Lifecycles"],
  ["STICKINESS", "Stickiness"],
  ["PATHS", "Paths"],
  ["SQL", "SQL"],
] as const;

/** `FunnelsQuery` as "Funnels". */
function nameKind({ query }: InsightRow): string {
  const kind = String(unwrapQuery(query)["kind"] ?? "");
  return kind === "HogQLQuery" ? "SQL" : kind.replace("Query", "");
}

function InsightList() {
  const list = useList<InsightRow>("insights/", 50, {}, ["search", "insight", "favorited"]);
  const { fields, change, text, choice } = useDraft(list.filter);
  const { search = "", insight = "", favorited = "" } = fields;
  return (
    <ListPage
      title="Insights"
      {...list}
      empty={
        search || insight || favorited
          ? "No such insights."
          : "No insights yet. Explore, and save what you find."
      }
      actions={<PageLink to={["explore"]}>Create one in Explore</PageLink>}
      search={
        <Form send={() => list.show({ search: search.trim(), insight, favorited })}>
          {text("search", "Name or description", { type: "search" })}
          {choice("insight", "Kind", types)}
          <CheckField
            label="Favorites"
            value={favorited === "true"}
            set={(on) => change({ favorited: on ? "true" : "" })}
          />
          <Button type="submit">Search</Button>
        </Form>
      }
      columns={({ column, numberColumn }) => [
        column("Name", (row) => (
          <PageLink to={["insights", [row.id]]}>
            {row.favorited && <span title="Favorite">★ </span>}
            <Cut text={insightName(row)} />
          </PageLink>
        )),
        column("Kind", nameKind),
        numberColumn("Dashboards", (row) => row.dashboards.length),
        numberColumn("Changed", (row) => <Time at={row.last_modified_at} />),
      ]}
    />
  );
}

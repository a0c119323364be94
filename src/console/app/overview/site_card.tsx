// One card of the overview: visitors by one property, such as their source; each row is a filter.

import { useState } from "preact/hooks";
import { useRead } from "../session/use_loaded.ts";
import { DataButtons } from "../ui/copying.tsx";
import { numberText } from "../ui/format.ts";
import { Button, Card, PageLink, WhenLoaded } from "../ui/parts.tsx";
import { Bars } from "../ui/table.tsx";
import { Badge } from "./badge.tsx";
import { type Site, siteAddress, tableQuery, withFilter } from "./site_query.ts";
import { byZone, rowName, type Subject } from "./subjects.ts";

interface SiteCardProps {
  title: string;
  subjects: readonly Subject[];
  site: Site;
  show: (site: Site) => void;
  wide: boolean;
}

export function SiteCard({ title, subjects, site, show, wide }: SiteCardProps) {
  const subject = subjects.find(({ by }) => site.tabs.includes(by)) ?? subjects[0]!;
  const { by: chosen } = subject;
  const choose = (chosenBy: string) => {
    const others = site.tabs.filter((tab) => subjects.every(({ by }) => by !== tab));
    show({ ...site, tabs: chosenBy === subjects[0]!.by ? others : [...others, chosenBy] });
  };
  return (
    <Card wide={wide}>
      <div class="card-head">
        <h2>{title}</h2>
        <div class="tabs" role="group" aria-label={`Tables of ${title}`}>
          {subjects.map(({ by, title: name }) => (
            <button key={by} type="button" aria-pressed={by === chosen} onClick={() => choose(by)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      <SiteTable key={chosen} subject={subject} site={site} />
    </Card>
  );
}

/** Rows at first, and after "more". */
const [rowsShort, rowsLong] = [8, 100];

interface TableReply {
  /** Views and, of a site with a goal, conversions instead: all, and how many visitors have one. */
  results: [
    value: string | null,
    visitors: [number, unknown],
    counts: [number, unknown],
    converted?: [number, unknown],
    rate?: [number, unknown],
  ][];
  hasMore: boolean;
}

/** The second figure of a row: its views or, with a goal, the per cent of its visitors who converted. */
const measures = {
  views: { title: "Views", format: numberText },
  rate: {
    title: "Conversion rate",
    format: (value: number) => `${numberText(Math.round(10 * value) / 10)} %`,
  },
} as const;

function SiteTable({ subject, site }: { subject: Subject; site: Site }) {
  const [limit, setLimit] = useState(rowsShort);
  const measure = site.goal === "" ? measures.views : measures.rate;
  const loaded = useRead(
    async (api, signal) => {
      const sources = subject.by === "Country" ? [subject, byZone] : [subject];
      const replies = await Promise.all(
        sources.map((source) => api.ask<TableReply>(tableQuery(site, source, limit), signal)),
      );
      const rows = replies.flatMap(({ results }, i) =>
        results.map(([value, [visitors], [counts], converted]) => {
          const source = sources[i]!;
          const measured = converted ? (100 * converted[0]) / visitors : counts;
          return {
            by: source.by,
            name: rowName(source, value ?? ""),
            value: value ?? "",
            visitors,
            measured,
          };
        }),
      );
      const ordered = rows.toSorted(
        (left, right) => right.visitors - left.visitors || right.measured - left.measured,
      );
      const hasMore = replies.some((reply) => reply.hasMore) || ordered.length > limit;
      return { rows: ordered.slice(0, limit), hasMore };
    },
    [JSON.stringify(tableQuery(site, subject, limit))],
  );
  return (
    <WhenLoaded loaded={loaded}>
      {({ rows, hasMore }) =>
        rows.length === 0 ? (
          <p class="quiet">Nobody in this time.</p>
        ) : (
          <>
            <p class="bar-head">
              <span>{subject.title}</span>
              <span>Visitors · {measure.title.toLowerCase()}</span>
            </p>
            <Bars
              caption={subject.title}
              bars={rows.map(({ by, name, value, visitors, measured }) => ({
                label: renderName(site, { by, name, value }),
                value: visitors,
                text: `${numberText(visitors)} · ${measure.format(measured)}`,
              }))}
            />
            {hasMore && limit === rowsShort && <Button onClick={() => setLimit(rowsLong)}>More</Button>}
            {limit === rowsLong && (
              <DataButtons
                name={subject.title}
                columns={[subject.title, "Visitors", measure.title]}
                rows={rows.map(({ name, visitors, measured }) => [name, visitors, measured])}
              />
            )}
          </>
        )
      }
    </WhenLoaded>
  );
}

/** The name links to the page with the row as a filter. */
function renderName(site: Site, { by, name, value }: { by: string; name: string; value: string }) {
  return (
    <>
      <Badge by={by} value={value} />
      <PageLink to={["overview", [], siteAddress(withFilter(site, { by, value }))]} title={name}>
        {name}
      </PageLink>
    </>
  );
}

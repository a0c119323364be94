// The visitors of the site, and where they came from; each row is a filter. Figures and rows come from the API's
// queries about sites.

import { useEffect } from "preact/hooks";
import { FigureSource } from "../actors/figures.tsx";
import { comparisons, ownVisits } from "../explore/choices.ts";
import { ResultView } from "../explore/result_view.tsx";
import { type QueryReply, readResults, toTable } from "../explore/results.ts";
import type { ListReply } from "../session/api.ts";
import { navigate, type Route } from "../session/route.ts";
import { useHref, useSession } from "../session/session.ts";
import { useAnswer, usePolling, useRead } from "../session/use_loaded.ts";
import { DataButtons } from "../ui/copying.tsx";
import { numberText } from "../ui/format.ts";
import { CheckField, ChoiceField } from "../ui/forms.tsx";
import { RangeField } from "../ui/inputs.tsx";
import { Card, PageHead, PageLink, WhenLoaded } from "../ui/parts.tsx";
import { Chip, NewFilter, NewGoal } from "./scope_fields.tsx";
import { SiteCard } from "./site_card.tsx";
import { Figures } from "./site_figures.tsx";
import {
  curveQuery,
  curves,
  nameFilter,
  readSite,
  type Site,
  siteAddress,
  siteRanges,
} from "./site_query.ts";
import { cards } from "./subjects.ts";

export function Overview({ route }: { route: Route }) {
  const hrefOf = useHref();
  // Readers send no events.
  const isFirst = !useSession().isReader && route.page === "";
  const any = useRead(
    async (api, signal) => {
      if (!isFirst) return true;
      const { results } = await api.get<ListReply<unknown>>("events/", { limit: 1 }, signal);
      return results.length > 0;
    },
    [isFirst],
  );
  // While there are no events, the first page shows how to send them.
  useEffect(() => {
    if (any.value === false) location.replace(hrefOf("start"));
  }, [any.value]);
  const site = readSite(route.query);
  const { drawn } = site;
  const show = (next: Site) => navigate(hrefOf("overview", [], siteAddress(next)));
  return (
    <>
      <PageHead title="Overview">{any.value && <LiveNow />}</PageHead>
      <WhenLoaded loaded={any}>
        {(has) =>
          has && (
            <>
              <Scope site={site} show={show} />
              <div class="cards">
                <Card wide>
                  <Figures site={site} drawn={drawn} draw={(key) => show({ ...site, drawn: key })} />
                  <Curve site={site} drawn={drawn} />
                </Card>
                {Object.entries(cards).map(([title, subjects], i, all) => (
                  <SiteCard
                    key={title}
                    title={title}
                    subjects={subjects}
                    site={site}
                    show={show}
                    wide={i === all.length - 1}
                  />
                ))}
              </div>
            </>
          )
        }
      </WhenLoaded>
    </>
  );
}

/** A person is here now who did anything in these minutes; the pause between two polls, in ms. */
const [nowMinutes, nowPollMs] = [5, 30_000];

function LiveNow() {
  const text =
    "select count(distinct person_id) from events " +
    `where timestamp > now() - interval ${nowMinutes} minute and timestamp <= now()`;
  const loaded = useAnswer<{ results: [[number]] }>({ kind: "HogQLQuery", query: text });
  const value = loaded.value?.results[0][0];
  usePolling(!loaded.loading, loaded.value, loaded.reload, nowPollMs);
  if (value === undefined) return null;
  const persons = value === 1 ? "1 person" : `${numberText(value)} persons`;
  return (
    <span class={value > 0 ? "status good" : "status"}>
      {persons} in the last {nowMinutes} minutes
    </span>
  );
}

function Scope({ site, show }: { site: Site; show: (site: Site) => void }) {
  return (
    <div class="form scope">
      <RangeField
        from={site.range}
        to={site.to}
        set={(range, to) => show({ ...site, range, to })}
        options={siteRanges}
      />
      <ChoiceField
        label="Compared with"
        value={site.compareTo}
        set={(compareTo) => show({ ...site, compareTo })}
        options={comparisons}
      />
      <CheckField
        label={ownVisits}
        value={site.withoutOwn}
        set={(withoutOwn) => show({ ...site, withoutOwn })}
      />
      {site.filters.map((filter) => (
        <Chip
          key={nameFilter(filter)}
          name={nameFilter(filter)}
          what="filter"
          remove={() => show({ ...site, filters: site.filters.filter((item) => item !== filter) })}
        />
      ))}
      {site.goal !== "" && (
        <Chip name={`Goal: ${site.goal}`} what="goal" remove={() => show({ ...site, goal: "" })} />
      )}
      <NewFilter site={site} show={show} />
      {site.goal === "" && <NewGoal set={(goal) => show({ ...site, goal })} />}
    </div>
  );
}

/** A figure over time, of all events and not by session. Its points link to their persons. */
function Curve({ site, drawn }: { site: Site; drawn: string }) {
  const [title] = curves[drawn]!;
  const query = curveQuery(site, drawn);
  const loaded = useAnswer<QueryReply>(query);
  const source = { kind: "InsightActorsQuery", source: query, series: 0 };
  const of = JSON.stringify({ source });
  const { isReader } = useSession();
  return (
    <>
      <div class="card-head">
        <h2>{title}</h2>
        {!isReader && (
          <PageLink to={["behind", [], { title: `${title}, ${rangeName(site)}`, of }]}>The persons</PageLink>
        )}
      </div>
      <div class="curve">
        <WhenLoaded loaded={loaded}>
          {(reply) => (
            <FigureSource query={query}>
              <ResultView {...readResults(reply)} height={190} small />
              <DataButtons {...toTable(readResults(reply))} name={title} />
            </FigureSource>
          )}
        </WhenLoaded>
      </div>
    </>
  );
}

function rangeName({ range, to }: Site): string {
  const usual = siteRanges.find(([value]) => value === range)?.[1];
  return usual?.toLowerCase() ?? [range, to].filter(Boolean).join(" to ");
}

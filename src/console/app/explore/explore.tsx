// The explore page: a question in a line, its result, the form that changes it, and saving it as an insight.

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { readDrawing } from "../../../query/result.ts";
import { FigureSource } from "../actors/figures.tsx";
import type { ListReply } from "../session/api.ts";
import { navigate, type Route } from "../session/route.ts";
import { useAllowed, useHref } from "../session/session.ts";
import { useAnswer, useRead } from "../session/use_loaded.ts";
import { Card, PageHead, WhenLoaded } from "../ui/parts.tsx";
import { type Kind, kindNames, kinds } from "./choices.ts";
import { QueryForm } from "./form/query_form.tsx";
import { type InsightQuery, readAddress, shownSeries, toAddress, toQueryBody } from "./query.ts";
import { describeQuery } from "./query_text.ts";
import { ResultView } from "./result_view.tsx";
import { type QueryReply, readResults } from "./results.ts";
import { savedWith } from "./saved_query.ts";
import { Saving } from "./saving.tsx";

export function Explore({ route }: { route: Route }) {
  const hrefOf = useHref();
  const query = readAddress(route.query);
  const address = toAddress(query);
  const [edited, edit] = useState({ address, query });
  // Another address, as after going back, is another query.
  const next = edited.address === address ? edited.query : query;
  const insight = Number(route.query.get("insight"));
  const show = (chosen: InsightQuery) => {
    const ofInsight = insight > 0 ? `insight=${insight}&` : "";
    navigate(hrefOf("explore", [], `${ofInsight}${toAddress(chosen)}`));
  };
  const choose = (kind: Kind) => show({ ...next, kind, series: shownSeries(kind, next.series) });
  // The result of another kind is a new element: it does not move into place from the previous one.
  const key = `${query.kind} ${insight}`;
  const isEdited = toAddress(next) !== address;
  // Where the form stands beside the result, it does not come before it.
  const [isOpen, setOpen] = useState(insight > 0 || (!route.query.has("kind") && innerWidth >= besideMin));
  const note = <p class="quiet">The form's current values are saved, not the result that is shown.</p>;
  return (
    <>
      <PageHead title={insight > 0 ? "Edit an insight" : "Explore"}>
        <Saving key={key} makeQuery={(before) => savedWith(before, next)} insight={insight} />
      </PageHead>
      <div class="tabs" role="group" aria-label="Kinds of queries">
        {kindNames.map((kind) => (
          <button key={kind} type="button" aria-pressed={kind === query.kind} onClick={() => choose(kind)}>
            {kinds[kind].title}
          </button>
        ))}
      </div>
      <button type="button" class="question" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {describeQuery(query).map((part, i) => (
          <Fragment key={i}>
            <span class="tag">{part}</span>{" "}
          </Fragment>
        ))}
        <span class="change-it">{isOpen ? "Close" : "Change"}</span>
      </button>
      {isEdited && !isOpen && note}
      <div class={isOpen ? "asked" : ""}>
        {isOpen && (
          <Card>
            <QueryForm
              next={next}
              edit={(changed) => edit({ address, query: changed })}
              submit={show}
              isEdited={isEdited}
            />
            {isEdited && note}
          </Card>
        )}
        <Card key={key}>
          <div class="answer">
            <Answer key={address} query={query} />
          </div>
        </Card>
      </div>
    </>
  );
}

/** Pixels of a window where the form stands beside the result; the style sheet has them, too. */
const besideMin = 1100;

/** Names of the query that no event has: a misspelt one would draw zeros, as one that is rare does. */
function UnsentNames({ query: { kind, series } }: { query: InsightQuery }) {
  const seesNames = useAllowed("event_definition:read");
  const named = kind === "paths" ? [] : shownSeries(kind, series).map(({ event }) => event);
  const names = JSON.stringify([...new Set(named)].filter((name) => name !== ""));
  const loaded = useRead(
    async (api, signal) => {
      if (!seesNames || names === "[]") return [];
      const path = "event_definitions/";
      const { results } = await api.get<ListReply<{ name: string }>>(path, { names }, signal);
      const sent = new Set(results.map(({ name }) => name));
      return (JSON.parse(names) as string[]).filter((name) => !sent.has(name));
    },
    [names, seesNames],
  );
  return (loaded.value ?? []).map((name) => (
    <p class="notice" key={name}>
      No event called “{name}” has arrived yet.
    </p>
  ));
}

function Answer({ query }: { query: InsightQuery }) {
  const body = toQueryBody(query);
  const loaded = useAnswer<QueryReply>(body);
  return (
    <WhenLoaded loaded={loaded}>
      {(reply) => (
        <FigureSource query={body}>
          <UnsentNames query={query} />
          <ResultView {...readResults(reply)} drawing={readDrawing(body)} query={body} />
        </FigureSource>
      )}
    </WhenLoaded>
  );
}

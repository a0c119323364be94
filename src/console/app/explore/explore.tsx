// The explore page: a question put together, its answer, and saving it as an insight.

import { useState } from "preact/hooks";
import { FiguresOf } from "../actors/figure_link.tsx";
import { Saving } from "../insights/saving.tsx";
import { hrefOf, navigate, type Route } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useLoaded } from "../session/use_loaded.ts";
import { Card, PageHead, Shown } from "../ui/parts.tsx";
import { drawingOf } from "./drawing.ts";
import { QuestionForm } from "./form/question_form.tsx";
import { shownSeries } from "./form/series_fields.tsx";
import { addressOf, type InsightQuery, type Kind, queryOf, questionOf } from "./query.ts";
import { ResultView } from "./result_view.tsx";
import { savedWith } from "./saved_query.ts";

const kinds: readonly (readonly [Kind, string])[] = [
  ["trend", "Trend"],
  ["funnel", "Funnel"],
  ["retention", "Retention"],
  ["lifecycle", "Lifecycle"],
  ["stickiness", "Stickiness"],
  ["paths", "Paths"],
];

export function Explore({ route }: { route: Route }) {
  const { project } = useSession();
  const question = questionOf(route.query);
  const address = addressOf(question);
  const [edited, edit] = useState({ of: address, question });
  // Another address, such as by the browser's way back, is another question.
  const next = edited.of === address ? edited.question : question;
  const insight = Number(route.query.get("insight"));
  const show = (asked: InsightQuery) => {
    const ofInsight = insight > 0 ? `insight=${insight}&` : "";
    navigate(`${hrefOf(project.id, "explore")}?${ofInsight}${addressOf(asked)}`);
  };
  const choose = (kind: Kind) => show({ ...next, kind, series: shownSeries(kind, next.series) });
  // What stands beneath another form is new there, and has not moved.
  const place = `${question.kind} ${insight}`;
  const isEdited = addressOf(next) !== address;
  return (
    <>
      <PageHead title={insight > 0 ? "Edit an insight" : "Explore"} />
      <div class="tabs" role="group" aria-label="Kinds of questions">
        {kinds.map(([kind, title]) => (
          <button key={kind} type="button" aria-pressed={kind === question.kind} onClick={() => choose(kind)}>
            {title}
          </button>
        ))}
      </div>
      <Card>
        <QuestionForm
          next={next}
          edit={(other) => edit({ of: address, question: other })}
          submit={show}
          isEdited={isEdited}
        />
        <Saving key={place} queryOf={(before) => savedWith(before, next)} insight={insight} />
        {isEdited && <p class="quiet">The form's current values are saved, not the result that is shown.</p>}
      </Card>
      <Card key={place}>
        <div class="answer">
          <Answer key={address} question={question} />
        </div>
      </Card>
    </>
  );
}

function Answer({ question }: { question: InsightQuery }) {
  const { api, home } = useSession();
  const asked = useLoaded(
    (signal) =>
      // Of times of a funnel it is no list.
      api.send<{ results: unknown }>("POST", `${home}/query/`, { query: queryOf(question) }, signal),
    [home, addressOf(question)],
  );
  return (
    <Shown asked={asked}>
      {({ results }) => (
        <FiguresOf query={queryOf(question)}>
          <ResultView
            results={[results].flat()}
            look={drawingOf(queryOf(question))}
            query={queryOf(question)}
          />
        </FiguresOf>
      )}
    </Shown>
  );
}

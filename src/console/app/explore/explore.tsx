// The explore page: a question put together, its answer, and saving it as an insight.

import { useState } from "preact/hooks";
import { FiguresOf } from "../actors/figure_link.tsx";
import { hrefOf, navigate, type Route } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { Button, Card, Form, Outcome, PageHead, Shown, TextField } from "../ui/parts.tsx";
import { drawingOf } from "./drawing.ts";
import { QuestionForm } from "./form/question_form.tsx";
import { shownSeries } from "./form/series_fields.tsx";
import { addressOf, type InsightQuery, type Kind, queryOf, questionOf } from "./query.ts";
import { ResultView } from "./result_view.tsx";

const kinds: readonly (readonly [Kind, string])[] = [
  ["trend", "Trend"],
  ["funnel", "Funnel"],
  ["retention", "Retention"],
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
  const isEdited = addressOf(next) !== address;
  const maySave = useMaySave();
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
      </Card>
      <Card>
        <div class="answer">
          <Answer key={address} question={question} />
        </div>
      </Card>
      {maySave && isEdited && (
        <p class="notice">The form's current values are saved, not the result that is shown.</p>
      )}
      {maySave && insight > 0 && <SaveChanges key={insight} question={next} insight={insight} />}
      {maySave && <SaveNew question={next} />}
    </>
  );
}

/** Saving a query takes the right to run it. */
export function useMaySave(): boolean {
  const mayQuery = useAllowed("query:read");
  return useAllowed("insight:write") && mayQuery;
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

/** In the form that PostHog's app saves. */
function savedQuery(question: InsightQuery) {
  return { kind: "InsightVizNode", source: queryOf(question) };
}

function SaveNew({ question }: { question: InsightQuery }) {
  const { api, home, project } = useSession();
  const [name, setName] = useState("");
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const body = { query: savedQuery(question), name: name || null };
      const { id } = await api.send<{ id: number }>("POST", `${home}/insights/`, body);
      navigate(hrefOf(project.id, "insights", [id]));
      return "Saved.";
    });
  return (
    <Card title="Save as a new insight">
      <Form send={save}>
        <TextField label="Name of the insight" value={name} set={setName} />
        <Button type="submit" disabled={action.running}>
          Save as insight
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

interface SavedInsight {
  name: string | null;
  derived_name: string | null;
}

function SaveChanges({ question, insight }: { question: InsightQuery; insight: number }) {
  const { api, home, project } = useSession();
  const path = `${home}/insights/${insight}/`;
  const asked = useLoaded((signal) => api.get<SavedInsight>(path, { refresh: "false" }, signal), [path]);
  const action = useAction();
  const save = () =>
    action.run(async () => {
      await api.send("PATCH", path, { query: savedQuery(question) });
      navigate(hrefOf(project.id, "insights", [insight]));
      return "Saved.";
    });
  return (
    <Card title="Save the changes">
      <Shown asked={asked}>
        {({ name, derived_name }) => (
          <p>
            The question of the form replaces the one of{" "}
            <a href={hrefOf(project.id, "insights", [insight])}>
              {name || derived_name || `Insight ${insight}`}
            </a>
            , on dashboards and in subscriptions too.
          </p>
        )}
      </Shown>
      <Button kind="primary" disabled={action.running} onClick={save}>
        Save changes
      </Button>
      <Outcome action={action} />
    </Card>
  );
}

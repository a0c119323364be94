// The explore page: a question put together, its answer, and keeping it as an insight.

import { useState } from "preact/hooks";
import { type Route, go, hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { Button, Card, Form, Outcome, PageHead, Shown, TextField } from "../ui/parts.tsx";
import { QuestionForm } from "./question_form.tsx";
import { addressOf, type Kind, type Question, queryOf, questionOf } from "./query.ts";
import { ResultView } from "./result_view.tsx";
import type { Results } from "./results.ts";

const kinds: readonly (readonly [Kind, string])[] = [
  ["trend", "Trend"],
  ["funnel", "Funnel"],
  ["retention", "Retention"],
];

export function Explore({ route }: { route: Route }) {
  const { project } = useSession();
  const question = questionOf(route.query);
  const ask = (next: Question) => go(`${hrefOf(project.id, "explore")}?${addressOf(next)}`);
  const choose = (kind: Kind) => {
    const events =
      kind === "funnel" && question.events.length < 2 ? [...question.events, ""] : question.events;
    ask({ ...question, kind, events });
  };
  const mayKeep = useAllowed("insight:write");
  return (
    <>
      <PageHead title="Explore" />
      <div class="tabs" role="group" aria-label="Kinds of questions">
        {kinds.map(([kind, title]) => (
          <button key={kind} type="button" aria-pressed={kind === question.kind} onClick={() => choose(kind)}>
            {title}
          </button>
        ))}
      </div>
      <Card>
        <QuestionForm key={addressOf(question)} question={question} ask={ask} />
      </Card>
      <Card>
        <Answer key={addressOf(question)} question={question} />
      </Card>
      {mayKeep && (
        <Card title="Keep it">
          <Keep question={question} />
        </Card>
      )}
    </>
  );
}

function Answer({ question }: { question: Question }) {
  const { api, home } = useSession();
  const asked = useLoaded(
    () => api.send<{ results: Results }>("POST", `${home}/query/`, { query: queryOf(question) }),
    [home, addressOf(question)],
  );
  return <Shown asked={asked}>{({ results }) => <ResultView results={results} />}</Shown>;
}

function Keep({ question }: { question: Question }) {
  const { api, home } = useSession();
  const [name, setName] = useState("");
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const query = { kind: "InsightVizNode", source: queryOf(question) };
      await api.send("POST", `${home}/insights/`, { query, name: name || null });
      return "Kept. It is among the insights.";
    });
  return (
    <>
      <Form send={save}>
        <TextField label="Name of the insight" value={name} set={setName} />
        <Button type="submit" disabled={action.running}>
          Save as insight
        </Button>
      </Form>
      <Outcome action={action} />
    </>
  );
}

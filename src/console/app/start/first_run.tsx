// The first run: the project's key, snippets to send an event with, and the first event when it arrives.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type OwnUser, PasswordCard } from "../accounts/own_account.tsx";
import { EventList } from "../live/event_row.tsx";
import { useNewest } from "../live/stream.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useGet } from "../session/use_loaded.ts";
import { Copied } from "../ui/copying.tsx";
import { Card, ErrorText, PageHead, PageLink } from "../ui/parts.tsx";
import { writeSnippets } from "./snippets.ts";

export function FirstRun() {
  const { project } = useSession();
  const seesEvents = useAllowed("query:read");
  const isWhole = useAllowed("*");
  return (
    <>
      <PageHead title="Send events" />
      <div class="cards">
        <Card title="1. The project’s key" wide>
          <p>SDKs send it with every event. It can only write, so it may be part of a web page.</p>
          <Copied text={project.api_token} label="the project’s key" />
        </Card>
        <Card title="2. Send an event" wide>
          <Snippets />
        </Card>
        {seesEvents && (
          <Card title="3. See it arrive" wide>
            <Arrivals />
          </Card>
        )}
        {isWhole && <ChoosePassword />}
        {isWhole && <Demo />}
      </div>
    </>
  );
}

/** The card of the made-up shop, whose script is loaded behind the page. */
function Demo() {
  const [Loaded, setLoaded] = useState<FunctionComponent>();
  useEffect(
    () =>
      void import("./demo.tsx").then(
        ({ DemoShop }) => setLoaded(() => DemoShop),
        () => {},
      ),
    [],
  );
  return Loaded ? <Loaded /> : null;
}

/** Asks users without a password, who need one to sign in again. */
function ChoosePassword() {
  const loaded = useGet<OwnUser>("/api/users/@me/");
  const [wasWithout, setWasWithout] = useState(false);
  useEffect(() => {
    if (loaded.value?.has_password === false) setWasWithout(true);
  }, [loaded.value]);
  if (!loaded.value || (loaded.value.has_password && !wasWithout)) return null;
  if (loaded.value.has_password) {
    return (
      <Card title="4. Come back" wide>
        <p class="notice good" role="status">
          From now on you sign in as {loaded.value.email}, with your password.
        </p>
      </Card>
    );
  }
  return <PasswordCard user={loaded.value} changed={loaded.reload} title="4. Come back: choose a password" />;
}

function Snippets() {
  const { project } = useSession();
  const snippets = writeSnippets(location.origin, project.api_token);
  const [chosen, setChosen] = useState("Web page");
  const snippet = snippets.find(({ name }) => name === chosen) ?? snippets[0]!;
  return (
    <>
      <div class="tabs" role="group" aria-label="Languages">
        {snippets.map(({ name }) => (
          <button key={name} type="button" aria-pressed={name === chosen} onClick={() => setChosen(name)}>
            {name}
          </button>
        ))}
      </div>
      <Copied text={snippet.text} label={`the snippet for ${snippet.name}`} block />
    </>
  );
}

function stateText({ events, arrived, loading, connection }: ReturnType<typeof useNewest>): string {
  if (arrived[0]) return `Arrived: ${arrived[0].event}.`;
  if (events.length > 0) return "Events have arrived.";
  if (connection === "unreachable") return "The server does not answer. This page tries again by itself.";
  return loading ? "Loading …" : "Waiting for the first event …";
}

const all = { event: "", distinct_id: "" };
const listedMax = 10;

function Arrivals() {
  const newest = useNewest(all, { max: listedMax });
  const { events, error } = newest;
  const has = events.length > 0;
  return (
    <>
      <ErrorText error={error} />
      <p role="status" class={has ? "notice good" : "notice waiting"}>
        {stateText(newest)}
      </p>
      <EventList events={events} empty="It appears here by itself, about a second after it was sent." />
      {has && (
        <p>
          Next: see the <PageLink to={["overview"]}>overview</PageLink>,{" "}
          <PageLink to={["live"]}>watch them live</PageLink> or{" "}
          <PageLink to={["explore"]}>explore them</PageLink>.
        </p>
      )}
    </>
  );
}

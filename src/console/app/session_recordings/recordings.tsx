// Session recordings: listed, and one played with the events beside it.

import { useState } from "preact/hooks";
import { useOffered, WithNames } from "../filters/property_names.tsx";
import type { Query } from "../session/api.ts";
import type { Route } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useList } from "../session/use_loaded.ts";
import { durationText, timeText } from "../ui/format.ts";
import { Form } from "../ui/forms.tsx";
import { useDraft } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { Button, PageLink, Status } from "../ui/parts.tsx";
import { OneRecording, type RecordingRow } from "./one_recording.tsx";

export function Recordings({ route }: { route: Route }) {
  const [id] = route.more;
  return id ? <OneRecording key={id} id={id} at={Number(route.query.get("t") ?? 0)} /> : <RecordingList />;
}

const ranges = [
  ["", "Any time"],
  ["-24h", "24 hours"],
  ["-7d", "7 days"],
  ["-30d", "30 days"],
] as const;

const lengths = [
  ["", "Any length"],
  ["10", "More than 10 s"],
  ["60", "More than 1 min"],
  ["300", "More than 5 min"],
  ["1800", "More than 30 min"],
] as const;

const names = ["range", "from", "to", "name", "distinct_id", "person", "page", "event", "longer"] as const;
type Filter = Readonly<Record<(typeof names)[number], string>>;

export function recordingsQuery(filter: Filter): Query {
  const { range, from, to, name, distinct_id, person, page, event, longer } = filter;
  const properties = [
    ...(name ? [{ type: "OR", values: nameKeys.map((key) => containing("person", key, name)) }] : []),
    ...(page ? [containing("event", "$current_url", page)] : []),
  ];
  return {
    date_from: startOfDay(from) ?? range,
    date_to: startOfDay(to, 1),
    distinct_id,
    person_uuid: person,
    properties: properties.length > 0 ? JSON.stringify({ type: "AND", values: properties }) : "",
    events: event ? JSON.stringify([{ id: event, type: "events" }]) : "",
    having_predicates: longer
      ? JSON.stringify([{ key: "duration", operator: "gt", value: Number(longer) }])
      : "",
  };
}

/** Fields that a button shows; they are open when the address has one of them. */
const rareFields = ["page", "event", "from", "to", "distinct_id"] as const;

/** Properties that may be a person's name. */
const nameKeys = ["email", "name", "username"];
const containing = (type: string, key: string, value: string) => ({
  type,
  key,
  value,
  operator: "icontains",
});

/** The beginning of a day in the reader's zone, in the list's form. */
function startOfDay(day: string, after = 0): string | undefined {
  const at = new Date(`${day}T00:00:00`);
  if (Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + after);
  return at.toISOString();
}

function RecordingList() {
  const { project } = useSession();
  const list = useList<RecordingRow>("session_recordings/", 30, {}, names, (filter) =>
    recordingsQuery(filter as Filter),
  );
  return (
    <ListPage
      title="Recordings"
      {...list}
      empty="No recordings."
      search={
        <>
          {!project.session_recording_opt_in && (
            <p class="notice">
              This project records no sessions. Turn it on under{" "}
              <PageLink to={["projects"]}>Projects</PageLink>.
            </p>
          )}
          <WithNames>
            <Filters filter={list.filter as Filter} show={list.show} />
          </WithNames>
        </>
      }
      columns={({ column, numberColumn }) => [
        column("Began", (row) => (
          <>
            <PageLink to={["recordings", [row.id]]}>{timeText(row.start_time)}</PageLink>{" "}
            {row.ongoing && <Status text="live" />}
            {row.viewed && <span class="tag">seen</span>}
          </>
        )),
        column("Person", ({ person, distinct_id }) => (
          <PageLink to={["persons", [], { distinct_id }]} needs="person:read">
            {person.name || distinct_id}
          </PageLink>
        )),
        column("Page", (row) => row.start_url),
        numberColumn("Length", (row) => durationText(row.recording_duration)),
        numberColumn("Clicks", (row) => row.click_count),
        numberColumn("Errors", (row) => row.console_error_count),
      ]}
    />
  );
}

function Filters({ filter, show }: { filter: Filter; show: (filter: Record<string, string>) => void }) {
  const { fields, text, choice } = useDraft(filter);
  const { nameList } = useOffered();
  const [isOpen] = useState(() => rareFields.some((name) => filter[name] !== ""));
  const trimmed = () => Object.fromEntries(names.map((name) => [name, (fields[name] ?? "").trim()]));
  return (
    <>
      <Form send={() => show(trimmed())}>
        {text("name", "Person’s name or e-mail address")}
        {choice("range", "Began within", ranges)}
        {choice("longer", "Length", lengths)}
        <Button type="submit">Show</Button>
        <details class="whole" open={isOpen}>
          <summary>More filters</summary>
          <div class="form">
            {text("page", "A page’s address contains")}
            {text("event", "With the event", { list: nameList("events") })}
            {text("from", "From the day", { type: "date" })}
            {text("to", "To the day", { type: "date" })}
            {text("distinct_id", "Distinct id")}
          </div>
        </details>
      </Form>
      {filter.person && (
        <p class="quiet">
          Recordings of one person only. <Button onClick={() => show({ person: "" })}>Show all</Button>
        </p>
      )}
    </>
  );
}

// Persons: a list to search, and a page for each with its properties, ids, events and sessions.

import { useState } from "preact/hooks";
import { ResultView } from "../explore/result_view.tsx";
import { readResults, type RowsReply } from "../explore/results.ts";
import { AddCondition, OwnFilters } from "../filters/condition_fields.tsx";
import { type Condition, conditionsText, readTextConditions, toProperties } from "../filters/conditions.ts";
import { EventList, toRecordingQuery } from "../live/event_row.tsx";
import type { ShownEvent } from "../live/stream.ts";
import { type ListReply, Refusal } from "../session/api.ts";
import type { Route } from "../session/route.ts";
import { useAllowed } from "../session/session.ts";
import { useAnswer, useList, useRead } from "../session/use_loaded.ts";
import { durationText, numberText, timeText } from "../ui/format.ts";
import { Form } from "../ui/forms.tsx";
import { useDraft } from "../ui/inputs.tsx";
import { ListPage, Paged } from "../ui/list_page.tsx";
import { Button, Card, Cut, PageHead, PageLink, PageWhenLoaded, Time, WhenLoaded } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Properties } from "../ui/tree.tsx";
import { Erasure, ErasureForm } from "./erasure.tsx";

interface PersonRow {
  uuid: string;
  name: string;
  distinct_ids: string[];
  distinct_ids_count: number;
  properties: Record<string, unknown>;
  created_at: string;
  last_seen_at: string;
  is_identified: boolean;
}

export function Persons({ route }: { route: Route }) {
  const [uuid] = route.more;
  return uuid ? <OnePerson key={uuid} uuid={uuid} /> : <PersonList />;
}

/** The filters of an address that are about persons. */
const personFiltersIn = (text?: string) => readTextConditions(text).filter(({ type }) => type === "person");

function PersonList() {
  const list = useList<PersonRow>(
    "persons/",
    50,
    {},
    ["search", "distinct_id", "where", "ordering"],
    ({ where, ordering, ...rest }) => {
      const properties = toProperties(personFiltersIn(where));
      const order = ordering === "id" ? {} : { ordering: ordering || "-created_at" };
      return { ...rest, ...order, ...(properties.length > 0 && { properties: JSON.stringify(properties) }) };
    },
  );
  const { fields, change, text, choice } = useDraft(list.filter);
  const found = list.filter["distinct_id"];
  const filters = {
    conditions: personFiltersIn(fields["where"]),
    set: (conditions: Condition[]) => change({ where: conditionsText(conditions) }),
    owner: "person",
  };
  const search = () => list.show({ ...fields, search: fields["search"]!.trim(), distinct_id: "" });
  return (
    <ListPage
      title="Persons"
      {...list}
      id={(row) => row.uuid}
      empty="Nobody found."
      search={
        <>
          <Form send={search}>
            {text("search", "Id, e-mail address or name", { type: "search" })}
            {choice("ordering", "Order", [
              ["", "Newest first"],
              ["-last_seen_at", "Last seen first"],
              ["id", "By id, the quickest"],
            ])}
            <AddCondition {...filters} />
            <Button type="submit">Search</Button>
            <OwnFilters {...filters} />
          </Form>
          {found && <p class="quiet">The person with the id {found}:</p>}
        </>
      }
      columns={({ column, numberColumn }) => [
        column("Person", (row) => (
          <PageLink to={["persons", [row.uuid]]}>
            <Cut text={namePerson(row)} />
          </PageLink>
        )),
        numberColumn("Distinct ids", (row) => row.distinct_ids_count),
        numberColumn("First seen", (row) => <Time at={row.created_at} />),
        numberColumn("Last seen", (row) => <Time at={row.last_seen_at} />),
      ]}
    />
  );
}

function namePerson({ name, distinct_ids, uuid }: PersonRow): string {
  return name || distinct_ids[0] || uuid;
}

function OnePerson({ uuid }: { uuid: string }) {
  const path = `persons/${encodeURIComponent(uuid)}`;
  const loaded = useRead(
    async (api, signal) => {
      const [person, ids] = await Promise.all([
        api.get<PersonRow>(`${path}/`, {}, signal),
        api.get<ListReply<string>>(`${path}/distinct_ids/`, { limit: 200 }, signal),
      ]);
      return { person, ids };
    },
    [path],
  );
  const [isDeleted, setDeleted] = useState(false);
  const seesEvents = useAllowed("query:read");
  const seesRecordings = useAllowed("session_recording:read");
  if (isDeleted && loaded.value) return <Erasure path={path} name={namePerson(loaded.value.person)} />;
  if (loaded.error instanceof Refusal && loaded.error.status === 404)
    return <Erasure path={path} name={uuid} error={loaded.error} />;
  return (
    <PageWhenLoaded loaded={loaded} title="Person">
      {({ person, ids }) => (
        <>
          <PageHead title={namePerson(person)}>
            {seesRecordings && (
              <PageLink class="button" to={["recordings", [], { person: uuid }]}>
                Recordings
              </PageLink>
            )}
          </PageHead>
          <div class="cards">
            <Card title="Properties">
              <Properties of={person.properties} />
            </Card>
            <Card title={ids.count > 1 ? `${ids.count} distinct ids, merged` : "Distinct id"}>
              <p class="quiet">
                First seen {timeText(person.created_at)}, last seen {timeText(person.last_seen_at)};{" "}
                {person.is_identified ? "identified" : "anonymous"}.
              </p>
              <ul class="rows">
                {ids.results.map((id, i) => (
                  <li key={id}>
                    {id} {i === 0 && ids.count > 1 && <span class="tag">main</span>}
                  </li>
                ))}
              </ul>
              {ids.count > ids.results.length && (
                <p class="quiet">and {ids.count - ids.results.length} more</p>
              )}
            </Card>
            <ErasureForm path={path} uuid={uuid} ids={ids.count} deleted={() => setDeleted(true)} />
            {seesEvents && <Sessions person={uuid} />}
            {seesEvents && <PersonEvents uuid={uuid} />}
          </div>
        </>
      )}
    </PageWhenLoaded>
  );
}

const eventsShownMax = 50;

/** At most so many days are drawn: the newest with events. */
const daysMax = 3660;

/** The person's events, and above them how many there were over time, counted by a query. */
function PersonEvents({ uuid: person }: { uuid: string }) {
  const { loaded, page } = useList<ShownEvent>("events/", eventsShownMax, { person_id: person });
  const text =
    "select toDate(timestamp) as day, count() as events from events where person_id = {person} " +
    `group by day order by day desc limit ${daysMax}`;
  const activity = useAnswer<RowsReply>({ kind: "HogQLQuery", query: text, values: { person } });
  return (
    <Card title="Events" wide>
      <WhenLoaded loaded={activity}>
        {({ results, columns, types, hasMore, ...reply }) => (
          <>
            <p>
              {totalText(results)}
              {hasMore && `, of the newest ${daysMax} days with any`}.
            </p>
            {results.length > 1 && (
              <ResultView
                {...readResults({ ...reply, results })}
                columns={columns}
                types={types.map(([, type]) => type)}
                drawing={{ display: "ActionsBar" }}
                height={160}
                small
              />
            )}
          </>
        )}
      </WhenLoaded>
      {/* What is below appears with it: it would be moved. */}
      {(activity.value !== undefined || !activity.loading) && (
        <Paged loaded={loaded} page={page}>
          {(events) => <EventList events={events} empty="No events." />}
        </Paged>
      )}
    </Card>
  );
}

function totalText(rows: readonly unknown[]): string {
  const count = (rows as [string, number][]).reduce((sum, [, events]) => sum + events, 0);
  const days = rows.length === 1 ? "one day" : `${rows.length} days`;
  return `${count === 1 ? "1 event" : `${numberText(count)} events`} on ${days}`;
}

/** Sessions at first, and at most. */
const [stepMax, listedMax] = [10, 500];

const columns =
  "session_id $start_timestamp $session_duration $entry_current_url $pageview_count $event_count".split(" ");
type Cells = [id: string, began: string, seconds: number, url: string, pages: number, events: number];

function Sessions({ person }: { person: string }) {
  const seesRecordings = useAllowed("session_recording:read");
  const [limit, setLimit] = useState(stepMax);
  const loaded = useRead(
    async (api, signal) => {
      const query = {
        kind: "SessionsQuery",
        select: columns,
        personId: person,
        after: "all",
        orderBy: ["$start_timestamp DESC"],
        limit,
      };
      type Reply = { results: Cells[]; hasMore: boolean };
      const { results, hasMore } = await api.ask<Reply>(query, signal);
      const ids = results.map(([id]) => id);
      const found =
        seesRecordings && ids.length > 0
          ? await api.get<ListReply<{ id: string }>>("session_recordings/", toRecordingQuery(ids), signal)
          : undefined;
      return { results, hasMore, recorded: new Set(found?.results.map(({ id }) => id)) };
    },
    [person, limit],
  );
  return (
    <Card title="Sessions" wide>
      <WhenLoaded loaded={loaded}>
        {({ results, hasMore, recorded }) => (
          <>
            <Table
              caption="Sessions"
              rows={results}
              id={([id]) => id}
              empty="No sessions: events belong to one by their $session_id."
              columns={({ column, numberColumn, fixedColumn }) => [
                fixedColumn("Began", ([id, began]) =>
                  recorded.has(id) ? (
                    <PageLink to={["recordings", [id]]}>{timeText(began)}, recorded</PageLink>
                  ) : (
                    timeText(began)
                  ),
                ),
                column("First page", ([, , , url]) => <Cut text={url ?? ""} />),
                numberColumn("Length", ([, , seconds]) => durationText(seconds)),
                numberColumn("Pages", ([, , , , pages]) => numberText(pages)),
                numberColumn("Events", ([, , , , , events]) => numberText(events)),
              ]}
            />
            {hasMore && limit < listedMax && (
              <Button onClick={() => setLimit(Math.min(listedMax, limit * 5))}>More sessions</Button>
            )}
            {hasMore && limit >= listedMax && <p class="quiet">The newest {limit}; there are more.</p>}
          </>
        )}
      </WhenLoaded>
    </Card>
  );
}

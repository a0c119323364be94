// The page of the persons behind a figure: their number, and a page of them at a time, with links to what they did.

import type { Route } from "../session/route.ts";
import { useAllowed } from "../session/session.ts";
import { useAddress, useRead } from "../session/use_loaded.ts";
import { numberText, shortText } from "../ui/format.ts";
import { Card, Cut, PageHead, PageLink, Time, WhenLoaded } from "../ui/parts.tsx";
import { Pager, Table } from "../ui/table.tsx";
import type { PersonsQuery } from "./figures.tsx";
import { readTraits, type Traits } from "./traits.ts";

const shownMax = 50;
const titleLettersMax = 200;

type Cells = [
  person: { display_name: string; id: string },
  created_at: string | null,
  distinct_id: string | null,
  last_seen_at: string | null,
];

/** A person without a name is shown by a distinct id, which somebody may know. */
const nameIn = ([{ display_name, id }, , distinct_id]: Cells) =>
  display_name === id ? distinct_id || id : display_name;

export function PersonsBehind({ route }: { route: Route }) {
  const query = personsQueryIn(route.query.get("of"));
  const seesPersons = useAllowed("person:read");
  return (
    <>
      <PageHead title="Persons behind a number" />
      <Card title={shortText(route.query.get("title") || "A number", titleLettersMax)}>
        {!seesPersons && (
          <p class="notice">
            To see persons, a key needs the scope <code>person:read</code>, which this one does not have.
          </p>
        )}
        {seesPersons && query === undefined && (
          <p class="notice bad">No figure selected. Click a number to open the persons behind it.</p>
        )}
        {seesPersons && query !== undefined && <List query={query} />}
      </Card>
    </>
  );
}

function personsQueryIn(text: string | null): PersonsQuery | undefined {
  try {
    const { source, properties } = JSON.parse(text ?? "") as PersonsQuery;
    return { source, ...(properties && { properties }) };
  } catch {
    return undefined;
  }
}

function List({ query: persons }: { query: PersonsQuery }) {
  const { page } = useAddress(shownMax);
  const seesRecordings = useAllowed("session_recording:read");
  const loaded = useRead(
    async (api, signal) => {
      const read = async <Row,>(query: object) =>
        (await api.ask<{ results: Row[] }>({ kind: "ActorsQuery", ...persons, ...query }, signal)).results;
      const [rows, [[count] = [0]]] = await Promise.all([
        read<Cells>({
          select: ["person_display_name", "created_at", "distinct_ids[1]", "last_seen_at"],
          limit: shownMax,
          offset: page.offset,
        }),
        read<[number]>({ select: ["count()"] }),
      ]);
      return { rows, count, left: count - page.offset - rows.length };
    },
    [JSON.stringify(persons), page.offset],
  );
  const shown = loaded.value?.rows.map(([{ id }, , , last_seen_at]) => ({ id, last_seen_at })) ?? [];
  // The list does not wait for these, and is shown without them where they are refused.
  const traits = useRead(
    (api, signal) => readTraits(api, signal, shown, seesRecordings),
    [JSON.stringify(shown)],
  ).value;
  return (
    <WhenLoaded loaded={loaded}>
      {({ rows, count, left }) => (
        <>
          <p>{count === 1 ? "1 person" : `${numberText(count)} persons`}</p>
          <PersonsTable rows={rows} known={traits} />
          {left > 0 && <p class="quiet">and {numberText(left)} more</p>}
          <Pager {...page} count={count} />
        </>
      )}
    </WhenLoaded>
  );
}

function PersonsTable({ rows, known }: { rows: readonly Cells[]; known: Traits }) {
  const seesRecordings = useAllowed("session_recording:read");
  return (
    <Table
      caption="The persons"
      rows={rows}
      id={([{ id }]) => id}
      empty="Nobody."
      columns={({ column, numberColumn }) => [
        column("Person", (row) =>
          // A person without a profile, who only sent events, has no page.
          row[1] === null ? (
            <>
              <Cut text={nameIn(row)} /> <span class="tag">without a profile</span>
            </>
          ) : (
            <PageLink to={["persons", [row[0].id]]}>
              <Cut text={nameIn(row)} />
            </PageLink>
          ),
        ),
        column("Country", ([{ id }]) => known?.countries.get(id) ?? ""),
        column("Device", ([{ id }]) => known?.devices.get(id) ?? ""),
        ...(seesRecordings
          ? [
              column("Recordings", (row: Cells) =>
                known && !known.recorded.has(row[0].id) ? (
                  <span class="quiet">none</span>
                ) : (
                  <PageLink
                    to={["recordings", [], { person: row[0].id }]}
                    aria-label={`Recordings of ${nameIn(row)}`}
                  >
                    Recordings
                  </PageLink>
                ),
              ),
            ]
          : []),
        numberColumn("First seen", ([, created_at]) => <Time at={created_at} />),
        numberColumn("Last seen", ([, , , last]) => <Time at={last} />),
      ]}
    />
  );
}

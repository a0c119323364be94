// The deletion of a person: what goes with it, and the progress until nothing is left.

import { type ListReply, Refusal } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { useAction, useAnswer, useGet, usePolling } from "../session/use_loaded.ts";
import { dayText, numberText, timeText } from "../ui/format.ts";
import { ConfirmButton } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Card, NoSuch, Outcome, PageHead, PageLink, WhenLoaded } from "../ui/parts.tsx";

interface ErasureProps {
  /** The API's path of the person. */
  path: string;
  uuid: string;
  /** How many distinct ids it has. */
  ids: number;
  deleted: () => void;
}

export function ErasureForm({ path, uuid, ids, deleted }: ErasureProps) {
  const mayWrite = useAllowed("person:write");
  const seesEvents = useAllowed("query:read");
  const action = useAction();
  const { fields, check } = useFields({ events: true, recordings: true });
  if (!mayWrite) return null;
  const { events, recordings } = fields;
  const erase = () => {
    const address = `${path}/?delete_events=${events}&delete_recordings=${recordings}`;
    action.send("DELETE", address, undefined, "", deleted);
  };
  const apart = ids > 1 ? ", each id’s as those of a person of its own: past counts of persons change" : "";
  const whose = ids > 1 ? `its ${ids} distinct ids` : "its distinct id";
  return (
    <Card title="Delete this person">
      <p>The person goes with {whose} and its properties.</p>
      {check("events", "Delete its events and sessions, too")}
      {check("recordings", "Delete its recordings, too")}
      <p class="quiet">
        {events ? "Figures of the past change: its events are no longer counted" : `Its events stay${apart}`}
        {seesEvents && <Days uuid={uuid} />}. A new event of one of its ids makes a new person.
      </p>
      <ConfirmButton label="Delete" sure="It cannot be undone." act={erase} />
      <Outcome action={action} />
    </Card>
  );
}

/** The days whose figures a deletion changes. */
function Days({ uuid: person }: { uuid: string }) {
  const day = (least: string) => `toString(toDate(${least}(timestamp)))`;
  const query = `select count(), ${day("min")}, ${day("max")} from events where person_id = {person}`;
  const loaded = useAnswer<{ results: [[number, string, string]] }>({
    kind: "HogQLQuery",
    query,
    values: { person },
  });
  const [count, from, to] = loaded.value?.results[0] ?? [0, "", ""];
  if (count === 0) return null;
  const days = from === to ? `on ${dayText(from)}` : `from ${dayText(from)} to ${dayText(to)}`;
  return (
    <>
      {" "}
      ({count === 1 ? "one" : numberText(count)} {days})
    </>
  );
}

interface ActivityRow {
  activity: string;
  user: { email: string } | null;
  created_at: string;
  detail: { changes: { action: string }[] };
}

interface ErasedProps {
  path: string;
  name: string;
  /** Why the person is not shown, where it was not deleted. */
  error?: unknown;
}

/** Shown instead of a deleted person: how far it is, and who began it when. */
export function Erasure({ path, name, error }: ErasedProps) {
  const loaded = useGet<ListReply<ActivityRow>>(`${path}/activity/`, { limit: 1 });
  const row = loaded.value?.results[0];
  const isErased = row?.detail.changes[0]?.action === "erased";
  const isUnknown = loaded.error instanceof Refusal && loaded.error.status === 404;
  const isOther = error !== undefined && (isUnknown || (loaded.value && row?.activity !== "deleted"));
  usePolling(!isErased && !isOther, loaded.value, loaded.reload);
  if (isOther) return <NoSuch title="Person" what="person" name={name} />;
  return (
    <>
      <PageHead title={name} />
      <WhenLoaded loaded={loaded}>
        {() => (
          <p class={isErased ? "notice good" : "notice"} role="status">
            {isErased
              ? "Deleted: no row of it is left."
              : "No page and no query shows it any more. Its rows are being removed, within minutes …"}
            {row?.activity === "deleted" &&
              ` Requested ${timeText(row.created_at)} by ${row.user?.email ?? "a user who is gone"}.`}
          </p>
        )}
      </WhenLoaded>
      <PageLink to={["persons"]}>All persons</PageLink>
    </>
  );
}

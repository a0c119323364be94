// The deletion of a person: what goes with it, and the progress until nothing is left.

import type { ListReply } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { useAction, useGet, usePolling } from "../session/use_loaded.ts";
import { ConfirmButton } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Card, Outcome, PageHead, PageLink, WhenLoaded } from "../ui/parts.tsx";

interface ErasureProps {
  /** The API's path of the person. */
  path: string;
  /** How many distinct ids it has. */
  ids: number;
  deleted: () => void;
}

export function ErasureForm({ path, ids, deleted }: ErasureProps) {
  const mayWrite = useAllowed("person:write");
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
        {events
          ? "Figures of the past change: its events are no longer counted."
          : `Its events stay${apart}.`}{" "}
        A new event of one of its ids makes a new person.
      </p>
      <ConfirmButton label="Delete" sure="It cannot be undone." act={erase} />
      <Outcome action={action} />
    </Card>
  );
}

interface ActivityRow {
  detail: { changes: { action: string }[] };
}

/** Shown instead of a deleted person. */
export function Erasure({ path, name }: { path: string; name: string }) {
  const loaded = useGet<ListReply<ActivityRow>>(`${path}/activity/`, { limit: 1 });
  const isErased = loaded.value?.results[0]?.detail.changes[0]?.action === "erased";
  usePolling(!isErased, loaded.value, loaded.reload);
  return (
    <>
      <PageHead title={name} />
      <WhenLoaded loaded={loaded}>
        {() => (
          <p class={isErased ? "notice good" : "notice"} role="status">
            {isErased
              ? "Deleted: no row of it is left."
              : "No page and no query shows it any more. Its rows are being removed, within minutes …"}
          </p>
        )}
      </WhenLoaded>
      <PageLink to={["persons"]}>All persons</PageLink>
    </>
  );
}

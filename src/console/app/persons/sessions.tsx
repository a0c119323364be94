// The newest sessions of a person, with their recordings.

import { useState } from "preact/hooks";
import { recordingsOf } from "../live/event_row.tsx";
import type { ListReply } from "../session/api.ts";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { durationText, numberText, timeText } from "../ui/format.ts";
import { Button, Card, Cut, PageLink, WhenLoaded } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

/** Sessions at first, and at most. */
const [stepMax, listedMax] = [10, 500];

const columns =
  "session_id $start_timestamp $session_duration $entry_current_url $pageview_count $event_count".split(" ");
type Cells = [id: string, began: string, seconds: number, url: string, pages: number, events: number];

export function Sessions({ person }: { person: string }) {
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
          ? await api.get<ListReply<{ id: string }>>("session_recordings/", recordingsOf(ids), signal)
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
              columns={[
                {
                  name: "Began",
                  cell: ([id, began]) =>
                    recorded.has(id) ? (
                      <PageLink to={["recordings", [id]]}>{timeText(began)}, recorded</PageLink>
                    ) : (
                      timeText(began)
                    ),
                  fixed: true,
                },
                { name: "First page", cell: ([, , , url]) => <Cut text={url ?? ""} /> },
                { name: "Length", cell: ([, , seconds]) => durationText(seconds), number: true },
                { name: "Pages", cell: ([, , , , pages]) => numberText(pages), number: true },
                { name: "Events", cell: ([, , , , , events]) => numberText(events), number: true },
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

// Events of a person over time: all of them, counted by a query.

import { type ComponentChildren } from "preact";
import { ResultView } from "../explore/result_view.tsx";
import { readResults, type RowsReply } from "../explore/results.ts";
import { useAnswer } from "../session/use_loaded.ts";
import { numberText } from "../ui/format.ts";
import { WhenLoaded } from "../ui/parts.tsx";

/** At most so many days are drawn: the newest with events. */
const daysMax = 3660;

/** @param children what is beneath, which appears with it: it would be moved. */
export function Activity({ person, children }: { person: string; children: ComponentChildren }) {
  const text =
    "select toDate(timestamp) as day, count() as events from events where person_id = {person} " +
    `group by day order by day desc limit ${daysMax}`;
  const loaded = useAnswer<RowsReply>({ kind: "HogQLQuery", query: text, values: { person } });
  return (
    <>
      <WhenLoaded loaded={loaded}>
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
      {(loaded.value !== undefined || !loaded.loading) && children}
    </>
  );
}

function totalText(rows: readonly unknown[]): string {
  const count = (rows as [string, number][]).reduce((sum, [, events]) => sum + events, 0);
  const days = rows.length === 1 ? "one day" : `${rows.length} days`;
  return `${count === 1 ? "1 event" : `${numberText(count)} events`} on ${days}`;
}

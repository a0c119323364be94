// Events that were ignored or changed, by reason, with examples.

import type { ListReply } from "../session/api.ts";
import { useGet } from "../session/use_loaded.ts";
import { agoText, numberText } from "../ui/format.ts";
import { Card, WhenLoaded } from "../ui/parts.tsx";
import { Tree } from "../ui/tree.tsx";

interface WarningRow {
  type: string;
  event: string;
  distinct_id: string;
  timestamp: string;
  details: Record<string, unknown>;
}

const examplesMax = 3;

/** @param seen changes when there may be new ones. */
export function WarningCard({ seen }: { seen: number }) {
  const loaded = useGet<
    ListReply<WarningRow> & { types: { type: string; count: number; last_seen: string }[] }
  >("ingestion_warnings/", { limit: 100, after: "-7d" }, seen);
  return (
    <Card title="Ignored and changed events, seven days" wide>
      <WhenLoaded loaded={loaded}>
        {({ types, results }) =>
          types.length === 0 ? (
            <p class="quiet">None: every event was stored as it was sent.</p>
          ) : (
            types.map(({ type, count, last_seen }) => (
              <details key={type} class="reason">
                <summary>
                  <strong>{type}</strong> <span>{numberText(count)}</span>{" "}
                  <span class="quiet">last {agoText(last_seen)}</span>
                </summary>
                <Examples rows={results.filter((row) => row.type === type).slice(0, examplesMax)} />
              </details>
            ))
          )
        }
      </WhenLoaded>
    </Card>
  );
}

function Examples({ rows }: { rows: readonly WarningRow[] }) {
  if (rows.length === 0) return <p class="quiet">Its examples are older than the newest hundred.</p>;
  return (
    <>
      {rows.map(({ event, distinct_id, timestamp, details }, i) => (
        <div key={i} class="opened">
          <p>{String(details["message"] ?? "")}</p>
          <Tree name="example" value={{ event, distinct_id, timestamp, ...details }} />
        </div>
      ))}
    </>
  );
}

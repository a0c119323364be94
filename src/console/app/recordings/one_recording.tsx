// One recording: the player in a frame, the session's events beside it, and sharing.

import { useEffect, useRef } from "preact/hooks";
import type { ShownEvent } from "../live/event_row.tsx";
import type { ListReply } from "../session/api.ts";
import { wordsOf } from "../session/api.ts";
import { hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useGet } from "../session/use_loaded.ts";
import { durationText, timeText } from "../ui/format.ts";
import { Card, Outcome, PageHead, RemoveButton, Shown } from "../ui/parts.tsx";
import { Sharing } from "../ui/sharing.tsx";
import type { RecordingRow } from "./rows.ts";
import { type PlayerMessage, readSnapshots } from "./snapshots.ts";

export function OneRecording({ id }: { id: string }) {
  const { home, project } = useSession();
  const path = `${home}/session_recordings/${encodeURIComponent(id)}`;
  const asked = useGet<RecordingRow>(`${path}/`);
  const frame = useRef<HTMLIFrameElement>(null);
  const seesEvents = useAllowed("query:read");
  const mayWrite = useAllowed("session_recording:write");
  const action = useAction();
  return (
    <Shown asked={asked}>
      {(recording) => (
        <>
          <PageHead title={`Recording of ${recording.person.name || recording.distinct_id}`}>
            {mayWrite && (
              <RemoveButton
                path={`${path}/`}
                sure="Delete this recording?"
                action={action}
                back={hrefOf(project.id, "recordings")}
              />
            )}
          </PageHead>
          <Outcome action={action} />
          <p class="quiet">
            {timeText(recording.start_time)} · {durationText(recording.recording_duration)} ·{" "}
            {recording.click_count === 1 ? "1 click" : `${recording.click_count} clicks`} ·{" "}
            {recording.start_url}
          </p>
          <div class="watch">
            <iframe class="player" title="Player" src="/console/player" ref={frame} />
            {seesEvents && <SessionEvents id={id} seek={(at) => tell(frame.current, { kind: "seek", at })} />}
          </div>
          <Feed path={path} frame={frame} mayWrite={mayWrite} />
          <Sharing path={path} what="recording" />
        </>
      )}
    </Shown>
  );
}

function tell(frame: HTMLIFrameElement | null, message: PlayerMessage): void {
  frame?.contentWindow?.postMessage(message, location.origin);
}

interface FeedProps {
  path: string;
  frame: { readonly current: HTMLIFrameElement | null };
  mayWrite: boolean;
}

/** Sends the recording to the frame when the frame says that it is ready. The frame has no key of its own. */
function Feed({ path, frame, mayWrite }: FeedProps) {
  const { api } = useSession();
  useEffect(() => {
    const feed = async (): Promise<void> => {
      try {
        const read = await readSnapshots(`${path}/snapshots/`, (page) => api.get(page));
        tell(frame.current, { kind: "show", ...read });
        if (mayWrite) await api.send("PATCH", `${path}/`, { viewed: true });
      } catch (thrown) {
        tell(frame.current, { kind: "trouble", text: wordsOf(thrown) });
      }
    };
    const take = (event: MessageEvent<PlayerMessage>) => {
      if (event.source === frame.current?.contentWindow && event.data.kind === "ready") void feed();
    };
    addEventListener("message", take);
    return () => removeEventListener("message", take);
  }, [path]);
  return null;
}

function SessionEvents({ id, seek }: { id: string; seek: (at: number) => void }) {
  const { home } = useSession();
  const properties = JSON.stringify([{ key: "$session_id", value: id, operator: "exact", type: "event" }]);
  const asked = useGet<ListReply<ShownEvent>>(`${home}/events/`, { properties, limit: 200 });
  return (
    <Card title="Events in this session">
      <Shown asked={asked}>
        {({ results }) =>
          results.length === 0 ? (
            <p class="quiet">No events belong to this session.</p>
          ) : (
            <ul class="events">
              {results.toReversed().map(({ uuid, event, timestamp }) => (
                <li key={uuid}>
                  <button type="button" class="event" onClick={() => seek(new Date(timestamp).getTime())}>
                    <strong>{event}</strong>
                    <time dateTime={timestamp}>{timeText(timestamp).slice(11)}</time>
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Card>
  );
}

// One recording: the player in a frame, the session's events beside it, and sharing.

import { useEffect, useRef, useState } from "preact/hooks";
import { toMessage } from "../session/api.ts";
import { type ProjectRow, useAllowed, useSession } from "../session/session.ts";
import { useAction, useGet } from "../session/use_loaded.ts";
import { durationText, timeText } from "../ui/format.ts";
import { RemoveButton } from "../ui/forms.tsx";
import { Outcome, PageHead, PageLink, PageWhenLoaded } from "../ui/parts.tsx";
import { Sharing } from "../ui/sharing.tsx";
import { Beside } from "./beside.tsx";
import { type Recorded, recordedIn } from "./recorded.ts";
import { findBegin, type PlayerMessage, readSnapshots } from "./snapshots.ts";

/** Fields as the API shows them. */
export interface RecordingRow {
  id: string;
  distinct_id: string;
  viewed: boolean;
  recording_duration: number;
  start_time: string;
  click_count: number;
  console_error_count: number;
  start_url: string;
  ongoing: boolean;
  person: { name: string; uuid: string };
}

/** @param at where it is shown first, in seconds from its beginning. */
export function OneRecording({ id, at }: { id: string; at: number }) {
  const { project } = useSession();
  const path = `session_recordings/${encodeURIComponent(id)}`;
  const loaded = useGet<RecordingRow>(`${path}/`);
  const frame = useRef<HTMLIFrameElement>(null);
  const [recorded, setRecorded] = useState<Recorded>();
  const seek = (moment: number) => postToFrame(frame, { kind: "seek", at: moment });
  const seesPersons = useAllowed("person:read");
  useFeed(path, frame, at, setRecorded);
  const action = useAction();
  return (
    <PageWhenLoaded loaded={loaded} title="Recording">
      {(recording) => (
        <>
          <PageHead title={`Recording of ${recording.person.name || recording.distinct_id}`}>
            <RemoveButton path={`${path}/`} sure="Delete this recording?" action={action} back="recordings" />
          </PageHead>
          <Outcome action={action} />
          <p class="quiet">
            {timeText(recording.start_time)} · {durationText(recording.recording_duration)} ·{" "}
            {recording.click_count === 1 ? "1 click" : `${recording.click_count} clicks`} ·{" "}
            {recording.start_url}
            {seesPersons && (
              <>
                {" "}
                · <PageLink to={["persons", [recording.person.uuid]]}>The person</PageLink> ·{" "}
                <PageLink to={["recordings", [], { person: recording.person.uuid }]}>
                  The person’s recordings
                </PageLink>
              </>
            )}
          </p>
          <div class="watch">
            <iframe class="player" title="Player" src={buildPlayerUrl(project)} ref={frame} />
            <Beside recording={recording} recorded={recorded} seek={seek} />
          </div>
          <Sharing path={path} what="recording" />
        </>
      )}
    </PageWhenLoaded>
  );
}

/** The page of the player, with the hosts that it may load from. */
function buildPlayerUrl({ session_recording_load_hosts: hosts = [] }: ProjectRow): string {
  const hostQuery = new URLSearchParams(hosts.map((host) => ["load", host]));
  return `/console/player${hostQuery.size > 0 ? `?${hostQuery}` : ""}`;
}

interface Frame {
  readonly current: HTMLIFrameElement | null;
}

function postToFrame({ current: frame }: Frame, message: PlayerMessage): void {
  frame?.contentWindow?.postMessage(message, location.origin);
}

/**
 * Sends the recording to the frame once the frame is ready: the frame has no key.
 * @param at seconds from the beginning.
 */
function useFeed(path: string, frame: Frame, at: number, read: (recorded: Recorded) => void): void {
  const mayWrite = useAllowed("session_recording:write");
  const { api } = useSession();
  useEffect(() => {
    let begin = 0;
    const feed = async (): Promise<void> => {
      try {
        const found = await readSnapshots(`${path}/snapshots/`, (page) => api.get(page));
        begin = findBegin(found.windows);
        postToFrame(frame, { kind: "show", ...found });
        if (at > 0) postToFrame(frame, { kind: "seek", at: begin + at * 1000 });
        read(recordedIn(found.windows));
        if (mayWrite) await api.send("PATCH", `${path}/`, { viewed: true });
      } catch (thrown) {
        postToFrame(frame, { kind: "problem", text: toMessage(thrown) });
      }
    };
    const receive = (event: MessageEvent<PlayerMessage>) => {
      if (event.source !== frame.current?.contentWindow) return;
      if (event.data.kind === "ready") void feed();
      if (event.data.kind === "time") writeTime((event.data.at - begin) / 1000);
    };
    const press = (event: KeyboardEvent) => {
      const isFree = (event.target as Element).matches("body, main, h1");
      if (!frame.current || !isFree || ![" ", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
      event.preventDefault();
      postToFrame(frame, { kind: "press", key: event.key });
    };
    addEventListener("message", receive);
    addEventListener("keydown", press);
    return () => {
      removeEventListener("message", receive);
      removeEventListener("keydown", press);
    };
  }, [path]);
}

/** Writes the time into the address, so that it can be sent; without a step in the history. */
function writeTime(seconds: number): void {
  const [before] = location.hash.split("?");
  history.replaceState(null, "", `${before}?t=${Math.max(0, Math.round(seconds))}`);
}

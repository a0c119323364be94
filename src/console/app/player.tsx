// The player of recordings: a page of its own, in a frame of the console or at the address of a shared recording. What
// was recorded is rebuilt by rrweb in a frame without scripts. The only file that knows rrweb.

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type eventWithTime, Replayer, type ReplayPlugin } from "rrweb";
import { readReply, Refusal, sendRequest, toMessage } from "./session/api.ts";
import { readPlayable } from "./session_recordings/playable.ts";
import { canvasPicture, externalIn, isPicture, removeRequests } from "./session_recordings/recorded_pages.ts";
import {
  findBegin,
  type PlayerMessage,
  readSnapshots,
  type RecordedEvent,
  type SnapshotPage,
} from "./session_recordings/snapshots.ts";
import { durationText, timeText } from "./ui/format.ts";
import { CheckField, ChoiceField } from "./ui/forms.tsx";
import { LinkPassword } from "./ui/link_password.tsx";
import { Button, ErrorText } from "./ui/parts.tsx";
import { followTheme, ThemeButton } from "./ui/theme.tsx";

type Recording = Awaited<ReturnType<typeof readSnapshots>>;

/** The moment that the player goes to. */
type Seek = { at: number } | undefined;

const isShared = location.pathname.startsWith("/shared/");

export function PlayerPage() {
  const [recording, setRecording] = useState<Recording>();
  const [problem, setProblem] = useState("");
  const [pass, setPass] = useState({});
  const [asksPassword, setAsksPassword] = useState(false);
  const [seek, setSeek] = useState<Seek>();
  useEffect(() => {
    if (isShared) {
      const show = (found: Recording) => {
        setRecording(found);
        setAsksPassword(false);
        const seconds = Number(new URLSearchParams(location.search).get("t"));
        if (seconds > 0) setSeek({ at: findBegin(found.windows) + seconds * 1000 });
      };
      readShared(pass).then(show, (thrown: unknown) => {
        if (thrown instanceof Refusal && thrown.status === 401) setAsksPassword(true);
        else setProblem(toMessage(thrown));
      });
      return whenRevoked(pass, () => {
        setRecording(undefined);
        setProblem(revoked);
      });
    }
    const receive = (event: MessageEvent<PlayerMessage>) => {
      if (event.origin !== location.origin || event.source !== parent) return;
      if (event.data.kind === "show") setRecording(event.data);
      if (event.data.kind === "problem") setProblem(event.data.text);
      if (event.data.kind === "seek") setSeek({ at: event.data.at });
      if (event.data.kind === "press") {
        dispatchEvent(new KeyboardEvent("keydown", { key: event.data.key, cancelable: true }));
      }
    };
    addEventListener("message", receive);
    const ready: PlayerMessage = { kind: "ready" };
    parent.postMessage(ready, location.origin);
    return () => removeEventListener("message", receive);
  }, [pass]);
  return (
    <main class="player-page" aria-label={isShared ? undefined : "Player"}>
      {isShared && (
        <header class="page-head">
          <h1>A shared recording</h1>
          <span class="fill" />
          <ThemeButton />
        </header>
      )}
      <ErrorText error={problem} />
      {isShared && problem !== "" && <Button onClick={() => location.reload()}>Try again</Button>}
      {asksPassword && <LinkPassword base={sharedBase()} open={setPass} />}
      {recording ? (
        <Windowed recording={recording} seek={seek} />
      ) : (
        problem === "" && !asksPassword && <p class="quiet">Loading …</p>
      )}
    </main>
  );
}

const revoked = "This recording is not shared, or its link was revoked.";
/** The pause between two checks whether the link is still valid, in ms: within five seconds a revoked one must end. */
const checkMs = 2500;

function sharedBase(): string {
  return location.pathname.endsWith("/") ? location.pathname : `${location.pathname}/`;
}

/** Calls `end` once the link was revoked; returns what stops the checks. */
function whenRevoked(headers: object, end: () => void): () => void {
  const timer = setInterval(() => {
    void sendRequest(`${sharedBase()}alive/`, { headers: { ...headers } }).then(
      ({ status }) => {
        if (status !== 404) return;
        clearInterval(timer);
        end();
      },
      () => undefined,
    );
  }, checkMs);
  return () => clearInterval(timer);
}

/** @throws an Error in words when the link was revoked. */
async function readShared(pass: object): Promise<Recording> {
  return await readSnapshots(`${sharedBase()}snapshots/`, (path) =>
    readReply<SnapshotPage>(path, { headers: { accept: "application/json", ...pass } }).catch(
      (thrown: unknown) => {
        throw thrown instanceof Refusal && thrown.status === 404 ? new Error(revoked) : thrown;
      },
    ),
  );
}

/** One window of the browser at a time. */
function Windowed({ recording: { windows, isWhole }, seek }: { recording: Recording; seek: Seek }) {
  const longest = [...windows].toSorted(([, left], [, right]) => right.length - left.length);
  const [chosen, setChosen] = useState(longest[0]?.[0] ?? "");
  const { events, notices } = useMemo(() => readPlayable(windows.get(chosen) ?? []), [windows, chosen]);
  return (
    <>
      {windows.size > 1 && (
        <ChoiceField
          label="Window"
          value={chosen}
          set={setChosen}
          options={longest.map(([id, { length }], i) => [id, `Window ${i + 1} (${length} events)`])}
        />
      )}
      <NotLoaded events={events} />
      {!isWhole && <p class="notice">It is too long for a browser; its beginning is shown.</p>}
      {notices.map((notice) => (
        <p class="notice" key={notice}>
          {notice}
        </p>
      ))}
      {events.length < 2 ? (
        <p class="notice">Nothing was recorded that can be played.</p>
      ) : (
        <Playing key={chosen} events={events as eventWithTime[]} seek={seek} />
      )}
    </>
  );
}

/** The hosts in the page's address, which its policy allows. */
const loadedHosts = isShared ? [] : new URLSearchParams(location.search).getAll("load");

const hostsMax = 5;

/** Lists images, style sheets and fonts that are missing in the picture. */
function NotLoaded({ events }: { events: readonly RecordedEvent[] }) {
  const hosts = useMemo(() => externalIn(events, loadedHosts), [events]);
  if (hosts.length === 0) return null;
  const counted = (count: number, name: string) => (count === 1 ? `1 ${name}` : `${count} ${name}s`);
  const texts = hosts.slice(0, hostsMax).map(({ host, images, styles, fonts }) => {
    const kinds = [[images, "image"] as const, [styles, "style sheet"] as const, [fonts, "font"] as const];
    const parts = kinds.flatMap(([count, name]) => (count > 0 ? [counted(count, name)] : []));
    return `${parts.join(" and ")} of ${host}`;
  });
  return (
    <p class="quiet unloaded">
      Not loaded from elsewhere: {texts.join(", ")}
      {hosts.length > hostsMax && ` and of ${hosts.length - hostsMax} more hosts`}.
    </p>
  );
}

const speeds = ["0.5", "1", "2", "4", "8"].map((speed) => [speed, `${speed}×`] as const);

/** How far an arrow key moves, in ms. */
const stepMs = 5000;

function Playing({ events, seek }: { events: eventWithTime[]; seek: Seek }) {
  const stage = useRef<HTMLDivElement>(null);
  const replayer = useRef<Replayer>(null);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState("1");
  const [skip, setSkip] = useState(true);
  const begin = events[0]?.timestamp ?? 0;
  const total = (events.at(-1)?.timestamp ?? begin) - begin;
  useEffect(() => openReplayer(events, stage, replayer, setPlaying), [events]);
  useEffect(() => replayer.current?.setConfig({ speed: Number(speed), skipInactive: skip }), [speed, skip]);
  useEffect(() => {
    const timer = setInterval(() => setAt(Math.min(total, replayer.current?.getCurrentTime() ?? 0)), 200);
    return () => clearInterval(timer);
  }, [total]);
  const seekTo = (ms: number, plays: boolean) => {
    setAt(ms);
    setPlaying(plays);
    if (plays) replayer.current?.play(ms);
    else replayer.current?.pause(ms);
    const message: PlayerMessage = { kind: "time", at: begin + ms };
    if (!isShared) parent.postMessage(message, location.origin);
  };
  const within = (ms: number) => Math.max(0, Math.min(total, ms));
  useEffect(() => {
    if (seek) seekTo(within(seek.at - begin), playing);
  }, [seek]);
  const toggle = () => seekTo(at >= total ? 0 : at, !playing);
  useKeys({ toggle, seekBy: (by) => seekTo(within(at + by), playing) });
  return (
    <>
      <div class="stage" ref={stage} />
      <div class="form controls">
        <Button kind="primary" title="Space; arrow keys go back and forth" onClick={toggle}>
          {playing ? "Pause" : "Play"}
        </Button>
        <input
          class="seek"
          type="range"
          aria-label="Time"
          aria-valuetext={`${durationText(at / 1000)} of ${durationText(total / 1000)}`}
          min={0}
          max={total}
          value={at}
          onInput={(event) => seekTo(Number(event.currentTarget.value), playing)}
        />
        <ChoiceField label="Speed" value={speed} set={setSpeed} options={speeds} />
        <CheckField label="Skip idle time" value={skip} set={setSkip} />
      </div>
      <p class="quiet">
        {durationText(Math.round(at / 1000))} of {durationText(Math.round(total / 1000))} · began{" "}
        {timeText(new Date(begin).toISOString())}
      </p>
    </>
  );
}

/**
 * A canvas is drawn by scripts, which the frame does not have: it is shown as a box with its last picture. Drawing
 * commands of other kinds are not.
 */
const canvasPlugin: ReplayPlugin = {
  onBuild: (node, { id, replayer }) => {
    if (node.nodeName !== "CANVAS") return;
    const { attributes } = (replayer.getMirror().getMeta(node as Node) ?? {}) as {
      attributes?: { width?: unknown; height?: unknown; rr_dataURL?: unknown };
    };
    const { width, height, rr_dataURL: url } = attributes ?? {};
    const { style } = node as HTMLCanvasElement;
    if (style.display === "") style.display = "inline-block";
    if (style.width === "" && width !== undefined) style.width = `${Number(width)}px`;
    if (style.height === "" && height !== undefined) style.height = `${Number(height)}px`;
    if (isPicture(url)) showPicture(replayer, id, url);
  },
  handler: (event, _, { replayer }) => {
    const picture = canvasPicture(event);
    if (picture) showPicture(replayer, picture.id, picture.url);
  },
};

function showPicture(replayer: Replayer, id: number, url: string): void {
  const node = replayer.getMirror().getNode(id) as HTMLElement | null;
  node?.style.setProperty("background", `url("${url}") 0 0 / 100% 100% no-repeat`);
}

/** Space starts and stops the player, arrows go back and forth. */
function useKeys({ toggle, seekBy }: { toggle: () => void; seekBy: (ms: number) => void }): void {
  const press = useRef<(event: KeyboardEvent) => void>();
  press.current = (event) => {
    // Elements with keys of their own are left alone.
    const { tagName = "" } = event.target instanceof Element ? event.target : {};
    const isOwn = ["INPUT", "SELECT", "TEXTAREA"].includes(tagName);
    if (isOwn || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " && tagName !== "BUTTON") toggle();
    else if (event.key === "ArrowLeft") seekBy(-stepMs);
    else if (event.key === "ArrowRight") seekBy(stepMs);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => press.current?.(event);
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

/** Builds the recording in the stage, as large as fits; returns what removes it. */
function openReplayer(
  events: eventWithTime[],
  stage: { readonly current: HTMLDivElement | null },
  opened: { current: Replayer | null },
  setPlaying: (playing: boolean) => void,
): (() => void) | undefined {
  const root = stage.current;
  if (!root) return undefined;
  removeRequests(events);
  const replayer = new Replayer(events, {
    root,
    mouseTail: false,
    skipInactive: true,
    showWarning: false,
    plugins: [canvasPlugin],
  });
  opened.current = replayer;
  let size = { width: 1024, height: 768 };
  const fit = () => {
    const scale = Math.min(1, root.clientWidth / size.width, root.clientHeight / size.height);
    const left = Math.max(0, (root.clientWidth - size.width * scale) / 2);
    replayer.wrapper.style.transform = `translateX(${left}px) scale(${scale})`;
  };
  replayer.on("resize", (dimension) => {
    const { width, height } = dimension as Record<string, number>;
    size = { width: readSide(width, 1024), height: readSide(height, 768) };
    Object.assign(replayer.iframe, size);
    fit();
  });
  replayer.on("finish", () => setPlaying(false));
  replayer.iframe.title = "What was recorded";
  const watching = new ResizeObserver(fit);
  watching.observe(root);
  replayer.pause(0);
  return () => {
    watching.disconnect();
    replayer.destroy();
    root.replaceChildren();
    opened.current = null;
  };
}

/** A side of the recorded page in pixels, as far as a screen may have so many. */
function readSide(pixels: number | undefined, usual: number): number {
  return pixels !== undefined && pixels >= 1 && pixels <= 16_384 ? pixels : usual;
}

followTheme();
const page = document.getElementById("page");
if (page) render(<PlayerPage />, page);

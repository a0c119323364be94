// Annotations on a chart: a mark on its interval with the text; the days beneath take new ones. Which are shown
// depends on the insight and the dashboard that the chart is of.

import { type ComponentChildren, createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useState } from "preact/hooks";
import { daySeconds, wallClockAt } from "../../../../query/results/figures.ts";
import type { ListReply } from "../../session/api.ts";
import { allows, SessionContext, useAllowed, useZone } from "../../session/session.ts";
import { useLoaded, useRead } from "../../session/use_loaded.ts";
import { type ChartOwner, type EditedNote, type Note, readText } from "./note.ts";

interface ProjectNotes {
  notes: readonly Note[];
  /** Called by the first chart: pages without one request nothing. */
  load: () => void;
  reload: () => void;
}

const NotesContext = createContext<ProjectNotes | undefined>(undefined);

/** The insight and the dashboard of a chart. */
export const ChartPlace = createContext<ChartOwner>({});

/** Notes that are shown, the latest first. */
const notesMax = 500;

/** Reads the project's annotations once for all charts of a page. */
export function NotesProvider({ children }: { children: ComponentChildren }) {
  const [isWanted, setWanted] = useState(false);
  const mayRead = useAllowed("annotation:read") && isWanted;
  const { value = [], reload } = useRead<readonly Note[]>(
    async (api, signal) =>
      mayRead ? (await api.get<ListReply<Note>>("annotations/", { limit: notesMax }, signal)).results : [],
    [mayRead],
  );
  const load = useCallback(() => setWanted(true), []);
  const shared = useMemo(() => ({ notes: value, load, reload }), [value, reload]);
  return <NotesContext.Provider value={shared}>{children}</NotesContext.Provider>;
}

function isShown({ scope, dashboard_item, dashboard_id }: Note, { insight, dashboard }: ChartOwner): boolean {
  if (scope === "dashboard_item") return insight !== undefined && dashboard_item === insight;
  if (scope === "dashboard") return dashboard !== undefined && dashboard_id === dashboard;
  return true;
}

/** The notes by the index of their interval. @param times ascending wall-clock times, in seconds. */
export function groupNotes(notes: readonly Note[], times: readonly number[], zone: string) {
  const marks = new Map<number, Note[]>();
  const [last = 0, beforeLast = last - daySeconds] = [times.at(-1), times.at(-2)];
  for (const note of notes) {
    if (note.date_marker === null) continue;
    const at = wallClockAt(Date.parse(note.date_marker), zone);
    const index = times.findLastIndex((time) => time <= at);
    if (index < 0 || at >= last + (last - beforeLast)) continue;
    marks.set(index, [...(marks.get(index) ?? []), note]);
  }
  return marks;
}

/** Where a chart has its values, in pixels, and its first and last time. */
export interface PlotArea {
  left: number;
  top: number;
  width: number;
  height: number;
  min: number;
  max: number;
}

interface NotesProps {
  /** Wall-clock times, in seconds. */
  times: readonly number[];
  names: readonly string[];
  area: PlotArea | undefined;
  /** The index of the time under the pointer, or chosen by the keyboard. */
  at: number | undefined;
}

/** The marks of a chart, and the form of one of its times. Nothing on the page of a link. */
export function ChartNotes(props: NotesProps) {
  const [session, shared] = [useContext(SessionContext), useContext(NotesContext)];
  if (!session || !shared || !props.area) return null;
  const mayWrite = allows(session.scopes, "annotation:write");
  return <Marks {...props} {...shared} area={props.area} mayWrite={mayWrite} />;
}

type MarksProps = NotesProps & ProjectNotes & { area: PlotArea; mayWrite: boolean };

function Marks({ times, names, area, at, notes, load, reload, mayWrite }: MarksProps) {
  const [place, zone] = [useContext(ChartPlace), useZone()];
  const [edited, edit] = useState<EditedNote>();
  const { value: NotePanel } = useLoaded(async () => edited && (await loadPanel()), [edited === undefined]);
  useEffect(load, [load]);
  const marks = groupNotes(
    notes.filter((note) => isShown(note, place)),
    times,
    zone,
  );
  const { left, top, width, height, min, max } = area;
  const add = (event: MouseEvent) => {
    // A press of a key has no position.
    const time = event.detail === 0 ? undefined : min + (event.offsetX / width) * (max - min);
    edit({ at: time === undefined ? (at ?? times.length - 1) : findNearest(times, time) });
  };
  const done = () => {
    edit(undefined);
    reload();
  };
  return (
    // The chart's own keys are not for what is in here.
    <div onKeyDown={(event) => event.stopPropagation()}>
      {mayWrite && (
        <button
          type="button"
          class="note-axis"
          style={{ left, top: top + height, width }}
          aria-label="Add a note to a day"
          title="Click a day to add a note"
          onClick={add}
        />
      )}
      <ul class="marks">
        {[...marks].map(([index, group]) => (
          <li key={index} style={{ left: left + ((times[index]! - min) / (max - min)) * width, top, height }}>
            <button
              type="button"
              aria-label={`Note, ${names[index]}: ${group.map(readText).join("; ")}`}
              onClick={() => edit({ at: index, note: group[0] })}
            >
              {group.length > 1 ? group.length : ""}
            </button>
            <span class={index > times.length / 2 ? "left" : ""} aria-hidden="true">
              <strong>{names[index]}</strong>
              {group.map((note) => (
                <span key={note.id}>{readText(note)}</span>
              ))}
            </span>
          </li>
        ))}
      </ul>
      {edited && NotePanel && (
        <NotePanel
          key={`${edited.at} ${edited.note?.id}`}
          {...{ edited, edit, times, mayWrite, place, done }}
          group={marks.get(edited.at) ?? []}
        />
      )}
    </div>
  );
}

/** Loaded when it is opened: the first script stays small. */
const loadPanel = async () => (await import("./note_form.tsx")).NotePanel;

function findNearest(times: readonly number[], time: number): number {
  const distances = times.map((other) => Math.abs(other - time));
  return distances.indexOf(Math.min(...distances));
}

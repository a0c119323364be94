// The form of one of a chart's times: makes, changes and removes annotations.

import { daySeconds, wallClockAt } from "../../../../query/results/figures.ts";
import { useZone } from "../../session/session.ts";
import { useAction } from "../../session/use_loaded.ts";
import { ConfirmButton, Form } from "../forms.tsx";
import { useFields } from "../inputs.tsx";
import { Button, Outcome } from "../parts.tsx";
import { type ChartOwner, type EditedNote, type Note, readText } from "./note.ts";

interface PanelProps {
  edited: EditedNote;
  edit: (next: EditedNote | undefined) => void;
  /** The notes of the same time. */
  group: readonly Note[];
  mayWrite: boolean;
  times: readonly number[];
  place: ChartOwner;
  done: () => void;
}

export function NotePanel({ edited, edit, group, mayWrite, ...form }: PanelProps) {
  const { at, note } = edited;
  return (
    <div class="note-form">
      {group.length > 1 && (
        <ul class="rows">
          {group.map((other) => (
            <li key={other.id}>
              {readText(other)}
              <Button aria-pressed={other === note} onClick={() => edit({ at, note: other })}>
                {mayWrite ? "Change" : "Read"}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {mayWrite ? (
        <NoteForm {...form} {...edited} close={() => edit(undefined)} />
      ) : (
        note && <p>{readText(note)}</p>
      )}
    </div>
  );
}

interface FormProps extends Pick<PanelProps, "times" | "place" | "done">, EditedNote {
  close: () => void;
}

function NoteForm({ times, at, note, place, done, close }: FormProps) {
  const zone = useZone();
  const isDaily = times.length < 2 || times[1]! - times[0]! >= daySeconds;
  const seconds = note?.date_marker ? wallClockAt(Date.parse(note.date_marker), zone) : times[at]!;
  const day = new Date(seconds * 1000).toISOString().slice(0, isDaily ? 10 : 16);
  const { fields, text, choice } = useFields({
    content: note?.content ?? "",
    day,
    scope: note?.scope ?? "project",
  });
  const action = useAction();
  const path = note ? `annotations/${note.id}/` : "annotations/";
  const body = () => ({
    content: fields.content,
    scope: fields.scope,
    ...((!note || fields.day !== day) && { date_marker: toMoment(fields.day, zone) }),
    ...(fields.scope === "dashboard_item" && { dashboard_item: place.insight }),
    ...(fields.scope === "dashboard" && { dashboard_id: place.dashboard }),
  });
  const remove = () => action.send("PATCH", path, { deleted: true }, "Removed.", done);
  return (
    <>
      <Form send={() => action.send(note ? "PATCH" : "POST", path, body, "Saved.", done)}>
        {text("content", "Note", { required: true })}
        {text("day", isDaily ? "Day" : "Time", { type: isDaily ? "date" : "datetime-local", required: true })}
        {choice("scope", "Shown on", [
          ["project", "All charts of this project"],
          ["organization", "All projects of the organization"],
          ...(place.insight === undefined ? [] : [["dashboard_item", "This insight"] as const]),
          ...(place.dashboard === undefined ? [] : [["dashboard", "This dashboard"] as const]),
        ])}
        <Button type="submit" disabled={action.running}>
          {note ? "Save note" : "Add note"}
        </Button>
        <Button onClick={close}>Cancel</Button>
        {note && <ConfirmButton label="Remove" sure="Remove this note?" act={remove} />}
      </Form>
      <Outcome action={action} />
    </>
  );
}

/** The moment of a wall-clock time or day in a zone. */
export function toMoment(local: string, zone: string): string {
  const shown = Date.parse(`${local.length === 10 ? `${local}T00:00` : local}Z`);
  const offset = (ms: number) => wallClockAt(ms, zone) * 1000 - ms;
  // The offset there may be another one than at the first guess.
  return new Date(shown - offset(shown - offset(shown))).toISOString();
}

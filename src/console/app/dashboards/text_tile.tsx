// Texts of a dashboard, shown as they were written: HTML in them is text.

import { useState } from "preact/hooks";
import { useAction } from "../session/use_loaded.ts";
import { Button, ConfirmButton, Field, Form, Outcome } from "../ui/parts.tsx";

export interface TileText {
  body: string;
}

/** The beginning of the text's first line, without the signs of a heading. */
export function textName({ body }: TileText): string {
  const words = body
    .split("\n", 1)[0]!
    .split(" ")
    .filter((word) => word !== "" && !"######".startsWith(word));
  return words.join(" ").slice(0, 80) || "Text";
}

interface TextFormProps {
  /** The dashboard's. */
  path: string;
  /** Undefined for a new text. */
  id?: number;
  body: string;
  changed: () => void;
}

export function TextForm({ path, id, body: before, changed }: TextFormProps) {
  const [body, setBody] = useState(before);
  const action = useAction();
  const send = (tile: object, done: string) =>
    action.send("PATCH", path, { tiles: [{ ...(id !== undefined && { id }), ...tile }] }, done, () => {
      if (id === undefined) setBody("");
      changed();
    });
  return (
    <>
      <Form send={() => send({ text: { body } }, "Saved.")}>
        <Field label="Text">
          {(field) => (
            <textarea
              id={field}
              value={body}
              required
              maxLength={4000}
              onInput={(event) => setBody(event.currentTarget.value)}
            />
          )}
        </Field>
        <Button type="submit" disabled={action.running}>
          {id === undefined ? "Add text" : "Save text"}
        </Button>
        {id !== undefined && (
          <ConfirmButton
            label="Remove"
            sure="Remove this text?"
            act={() => send({ deleted: true }, "Removed.")}
          />
        )}
      </Form>
      <Outcome action={action} />
    </>
  );
}

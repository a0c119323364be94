// Texts of a dashboard, shown as they were written: HTML in them is text.

import { useState } from "preact/hooks";
import { useAction } from "../session/use_loaded.ts";
import { Button, Card, ConfirmButton, Field, Form, Outcome } from "../ui/parts.tsx";

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

interface TextTileProps {
  /** The dashboard's. */
  path: string;
  id: number;
  text: TileText;
  arranging: boolean;
  changed: () => void;
}

export function TextTile({ path, id, text, arranging, changed }: TextTileProps) {
  return arranging ? (
    <TextForm path={path} id={id} body={text.body} button="Save text" changed={changed} />
  ) : (
    <p class="text-tile">{text.body}</p>
  );
}

export function NewText({ path, changed }: { path: string; changed: () => void }) {
  return (
    <Card title="Text beside the insights">
      <TextForm path={path} body="" button="Add text" changed={changed} />
    </Card>
  );
}

interface TextFormProps {
  path: string;
  /** Undefined for a new text. */
  id?: number;
  body: string;
  button: string;
  changed: () => void;
}

function TextForm({ path, id, body: before, button, changed }: TextFormProps) {
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
          {button}
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

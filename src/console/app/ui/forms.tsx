// Forms: their fields, the card that sends them, and the button that asks before it removes.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { navigate } from "../session/route.ts";
import { useAllowed, useHref } from "../session/session.ts";
import { type Action, useAction } from "../session/use_loaded.ts";
import { Button, Card, Outcome } from "./parts.tsx";

/** A button that asks for confirmation before it does what cannot be undone. The keyboard focus moves with it. */
export function ConfirmButton({ label, sure, act }: { label: string; sure: string; act: () => void }) {
  const [confirming, setConfirming] = useState<boolean>();
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (confirming !== undefined) element.current?.querySelector("button")?.focus();
  }, [confirming]);
  const answer = (yes: boolean) => {
    setConfirming(false);
    if (yes) act();
  };
  return (
    <span class="sure" ref={element}>
      {confirming ? (
        <>
          <Button
            kind="danger"
            onClick={() => answer(true)}
            aria-label={`Yes, ${label.toLowerCase()}. ${sure}`}
          >
            Yes, {label.toLowerCase()}
          </Button>
          <Button onClick={() => answer(false)}>No</Button>
          <span>{sure}</span>
        </>
      ) : (
        <Button kind="danger" onClick={() => setConfirming(true)}>
          {label}
        </Button>
      )}
    </span>
  );
}

interface FieldProps extends Pick<TextProps, "label" | "hint"> {
  children: (id: string) => ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <small>{hint}</small>}
    </div>
  );
}

export interface TextProps {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string | undefined;
  type?: string;
  placeholder?: string;
  required?: boolean;
  list?: string;
  autocomplete?: string;
}

export function TextField({ label, value, set, hint, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          id={id}
          value={value}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => set(event.currentTarget.value)}
          {...rest}
        />
      )}
    </Field>
  );
}

export type Options = readonly (readonly [value: string, text: string])[];

/** A value that is none of the usual options is offered, too: an address or a saved query may have any. */
export function ChoiceField({ label, value, set, options = [] }: TextProps & { options?: Options }) {
  const isUsual = options.some(([name]) => name === value);
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {[...options, ...(isUsual ? [] : [[value, value] as const])].map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({ label, value, set }: { label: string; value: boolean; set(on: boolean): void }) {
  const id = useId();
  return (
    <div class="field check">
      <input id={id} type="checkbox" checked={value} onChange={(event) => set(event.currentTarget.checked)} />
      <label for={id}>{label}</label>
    </div>
  );
}

export function Form({ send, children }: { send: () => void; children: ComponentChildren }) {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {children}
    </form>
  );
}

interface FormCardProps {
  title: string;
  send: (send: Action["send"]) => void;
  button?: string;
  disabled?: boolean;
  children: ComponentChildren;
}

export function FormCard({ title, send, button = "Create", disabled, children }: FormCardProps) {
  const action = useAction();
  return (
    <Card title={title}>
      <Form send={() => send(action.send)}>
        {children}
        <Button type="submit" disabled={action.running || disabled}>
          {button}
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

interface RemoveProps {
  /** The API's path, which begins with what it removes: so does the scope. */
  path: string;
  sure: string;
  action: Action;
  /** The page with the list. */
  back: string;
}

export function RemoveButton({ path, sure, action, back }: RemoveProps) {
  const [href, isAllowed] = [useHref()(back), useAllowed(`${path.split("s/", 1)[0]}:write`)];
  const remove = () => action.send("DELETE", path, undefined, "Deleted.", () => navigate(href));
  return isAllowed ? <ConfirmButton label="Delete" sure={sure} act={remove} /> : null;
}

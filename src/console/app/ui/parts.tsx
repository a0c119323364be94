// Small parts that many pages share: headings, notices, buttons, fields, states of loading.

import { type ComponentChildren, type JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { messageOf } from "../session/api.ts";
import { navigate } from "../session/route.ts";
import type { Action, Loaded } from "../session/use_loaded.ts";
import { agoText, shortText, timeText } from "./format.ts";

/** Whether the heading that was removed last had the focus: that of a page to come hands it to the page's own. */
let headHadFocus = false;

/** Letters of a page's heading: names that clients send may be long. */
const titleLettersMax = 200;

/** The heading of a page. The document's title follows it, for tabs and for screen readers. */
export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (headHadFocus) head.current?.focus();
    headHadFocus = false;
    return () => {
      headHadFocus = document.activeElement === head.current;
    };
  }, []);
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <header class="page-head">
      <h1 tabIndex={-1} ref={head}>
        <Cut text={title} most={titleLettersMax} />
      </h1>
      <div class="page-actions">{children}</div>
    </header>
  );
}

export function Card({
  title,
  children,
  wide,
}: {
  title?: string;
  children: ComponentChildren;
  wide?: boolean;
}) {
  return (
    <section class={wide ? "card wide" : "card"}>
      {title && <h2>{title}</h2>}
      {children}
    </section>
  );
}

/** A page of an address that names nothing. */
export function NoSuch({ title, what, name }: { title: string; what: string; name: string }) {
  return (
    <>
      <PageHead title={title} />
      <p class="notice bad" role="alert">
        There is no {what} {shortText(name, titleLettersMax)} here, or it is not shown to you.
      </p>
    </>
  );
}

export function ErrorText({ error }: { error: unknown }) {
  if (error === undefined || error === null) return null;
  return (
    <p class="notice bad" role="alert">
      {messageOf(error)}
    </p>
  );
}

/** A reply when it is there; until then, that it is loading, or why it failed. */
export function Shown<Value>({
  asked,
  children,
}: {
  asked: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}) {
  return (
    <>
      <ErrorText error={asked.error} />
      {asked.value !== undefined ? (
        <div aria-busy={asked.loading} {...(asked.isOld && { class: "old", onClickCapture: refuseClick })}>
          {children(asked.value)}
        </div>
      ) : (
        asked.loading && <p class="quiet">Loading …</p>
      )}
    </>
  );
}

/** As Shown, for a page whose heading is in the reply: until then it has this one. */
export function ShownPage<Value>({
  title,
  ...shown
}: Parameters<typeof Shown<Value>>[0] & { title: string }) {
  return (
    <>
      {shown.asked.value === undefined && <PageHead title={title} />}
      <Shown {...shown} />
    </>
  );
}

/** What is opened from a list must be of the question that was asked last, by pointer and by keyboard. */
function refuseClick(event: MouseEvent): void {
  const isOfRow = (event.target as Element).closest("tbody, .events, .side-bars, .bars, .u-over");
  if (!isOfRow) return;
  event.preventDefault();
  event.stopPropagation();
}

/** The outcome of what a button did. */
export function Outcome({ action }: { action: Action }) {
  return (
    <>
      <ErrorText error={action.error} />
      <p class="notice good" role="status" hidden={action.done === ""}>
        {action.done}
      </p>
    </>
  );
}

export function Button({ kind = "plain", ...rest }: JSX.IntrinsicElements["button"] & { kind?: string }) {
  return <button type="button" {...rest} class={`button ${kind}`} />;
}

/** A button that asks again before it does what cannot be undone. The keyboard focus moves with the question. */
export function SureButton({ label, sure, act }: { label: string; sure: string; act: () => void }) {
  const [asking, setAsking] = useState<boolean>();
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (asking !== undefined) place.current?.querySelector("button")?.focus();
  }, [asking]);
  const answer = (yes: boolean) => {
    setAsking(false);
    if (yes) act();
  };
  return (
    <span class="sure" ref={place}>
      {asking ? (
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
        <Button kind="danger" onClick={() => setAsking(true)}>
          {label}
        </Button>
      )}
    </span>
  );
}

export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: string;
  children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <small>{hint}</small>}
    </div>
  );
}

interface TextProps {
  label: string;
  value: string;
  set: (value: string) => void;
  hint?: string;
  type?: string;
  placeholder?: string;
  required?: boolean;
  list?: string;
  autocomplete?: string;
}

export function TextField({ label, value, set, hint, ...rest }: TextProps) {
  return (
    <Field label={label} {...(hint !== undefined && { hint })}>
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

/** `options`: values and what they are called. */
export function ChoiceField({
  label,
  value,
  set,
  options,
}: {
  label: string;
  value: string;
  set: (value: string) => void;
  options: readonly (readonly [value: string, text: string])[];
}) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {options.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField({
  label,
  value,
  set,
}: {
  label: string;
  value: boolean;
  set: (on: boolean) => void;
}) {
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
  send: () => void;
  action: Action;
  /** What the button says. */
  button?: string;
  disabled?: boolean;
  children: ComponentChildren;
}

/** A form in a card of its own, with the outcome of sending it. */
export function FormCard({ title, send, action, button = "Create", disabled, children }: FormCardProps) {
  return (
    <Card title={title}>
      <Form send={send}>
        {children}
        <Button type="submit" disabled={action.running || disabled}>
          {button}
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

/** A text that is cut where it is long; the whole of it is at hand. */
export function Cut({ text, most }: { text: string; most: number }) {
  return text.length > most ? <span title={text}>{shortText(text, most)}</span> : <>{text}</>;
}

/** How long ago something was; the exact time at hand, by pointer and for screen readers. */
export function Time({ at }: { at: string | null | undefined }) {
  return at ? (
    <time dateTime={at} title={timeText(at)}>
      {agoText(at)}
    </time>
  ) : (
    <>–</>
  );
}

export function Status({ text }: { text: string }) {
  const good = ["Completed", "delivered", "running", "live", "ready"].includes(text);
  const bad = ["Failed", "FailedRetryable", "FailedBilling", "failed", "TimedOut", "Terminated"].includes(
    text,
  );
  return <span class={`status ${good ? "good" : bad ? "bad" : ""}`}>{text}</span>;
}

interface RemoveProps {
  /** Its path in the API. */
  path: string;
  sure: string;
  action: Action;
  /** The page to go to afterwards. */
  back: string;
}

export function RemoveButton({ path, sure, action, back }: RemoveProps) {
  const remove = () => action.send("DELETE", path, undefined, "Deleted.", () => navigate(back));
  return <SureButton label="Delete" sure={sure} act={remove} />;
}

// Small parts that many pages share: headings, notices, buttons, links, states of loading.

import type { ComponentChildren, JSX, RenderableProps } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal, ServerUnreachable, toMessage } from "../session/api.ts";
import { type PageAddress, useAllowed, useHref } from "../session/session.ts";
import type { Action, Loaded } from "../session/use_loaded.ts";
import { agoText, shortText, timeText } from "./format.ts";

/** Whether the heading that was removed last had the focus: the heading that replaces it gets the focus. */
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
        <Cut text={title} lettersMax={titleLettersMax} />
      </h1>
      <div class="page-actions">{children}</div>
    </header>
  );
}

export function Card({ title, children, wide }: RenderableProps<{ title?: string; wide?: boolean }>) {
  return (
    <section class={wide ? "card wide" : "card"}>
      {title && <h2>{title}</h2>}
      {children}
    </section>
  );
}

export function NoSuch({ title, what, name }: { title: string; what: string; name: string }) {
  return (
    <>
      <PageHead title={title} />
      <ErrorText
        error={`There is no ${what} ${shortText(name, titleLettersMax)} here, or it is not shown to you.`}
      />
    </>
  );
}

export function ErrorText({ error }: { error: unknown }) {
  if (error === undefined || error === null || error === "") return null;
  return (
    <p class="notice bad" role="alert">
      {toMessage(error)}
    </p>
  );
}

/** The error of a reply, with a button that asks again: a busy or absent server is asked by itself, too. */
export function LoadError({ loaded: { error, reload } }: { loaded: Loaded<unknown> }) {
  return (
    <>
      <ErrorText error={error} />
      {error !== undefined && !(error instanceof ServerUnreachable) && (
        <Button onClick={reload}>
          {error instanceof Refusal && error.status === 503 ? "Ask again now" : "Try again"}
        </Button>
      )}
    </>
  );
}

/** Milliseconds after which a reply is said to wait. */
const waitShownMs = 5000;

/** Text shown until a reply comes. */
export function useWaitText(): string {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), waitShownMs);
    return () => clearTimeout(timer);
  }, []);
  return isLong ? "Waiting for its turn …" : "Loading …";
}

export function Loading() {
  return <p class="quiet">{useWaitText()}</p>;
}

interface WhenLoadedProps<Value> {
  loaded: Loaded<Value>;
  children: (value: Value) => ComponentChildren;
}

/** Shows a reply once it is loaded; until then "Loading …", or the error. */
export function WhenLoaded<Value>({ loaded, children }: WhenLoadedProps<Value>) {
  return (
    <>
      <LoadError loaded={loaded} />
      {loaded.value !== undefined ? (
        <div aria-busy={loaded.loading} {...(loaded.isOld && { class: "old", onClickCapture: refuseClick })}>
          {children(loaded.value)}
        </div>
      ) : (
        loaded.loading && <Loading />
      )}
    </>
  );
}

/** WhenLoaded for a page whose heading is in the reply: until then it has this one. */
export function PageWhenLoaded<Value>({ title, ...props }: WhenLoadedProps<Value> & { title: string }) {
  return (
    <>
      {props.loaded.value === undefined && <PageHead title={title} />}
      <WhenLoaded {...props} />
    </>
  );
}

/** Rows of an outdated list cannot be opened, by pointer or by keyboard. */
function refuseClick(event: MouseEvent): void {
  const isOfRow = (event.target as Element).closest("tbody, .events, .side-bars, .bars, .u-over");
  if (!isOfRow) return;
  event.preventDefault();
  event.stopPropagation();
}

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

interface PageLinkProps extends Omit<JSX.IntrinsicElements["a"], "href"> {
  to: PageAddress;
  /** The scope of the page: for keys without it there is no link. */
  needs?: string;
}

export function PageLink({ to, needs = "", ...rest }: PageLinkProps) {
  const [href, isAllowed] = [useHref()(...to), useAllowed(needs)];
  return needs === "" || isAllowed ? <a href={href} {...rest} /> : <>{rest.children}</>;
}

/** A figure that links to the persons behind it, where there are any. */
export function FigureLink({ href, children }: { href: string | undefined; children: ComponentChildren }) {
  if (href === undefined) return <>{children}</>;
  return (
    <a class="behind" href={href}>
      {children}
    </a>
  );
}

/** A text that is cut where it is long; the whole text is its title. */
export function Cut({ text, lettersMax = 120 }: { text: string; lettersMax?: number }) {
  return text.length > lettersMax ? <span title={text}>{shortText(text, lettersMax)}</span> : <>{text}</>;
}

/** How long ago something was; the exact time is its title. */
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
  const good = ["Completed", "delivered", "running", "live", "ready", "Not firing"].includes(text);
  const bad = [
    "Failed",
    "FailedRetryable",
    "FailedBilling",
    "failed",
    "TimedOut",
    "Terminated",
    "Firing",
    "Errored",
  ].includes(text);
  return <span class={`status ${good ? "good" : bad ? "bad" : ""}`}>{text}</span>;
}

// A field for SQL: it offers names while somebody types, and marks what is wrong.

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Offered, offeredAt, type SqlNames, type SqlWords } from "./completion.ts";
import type { SqlPlace } from "./sql_query.ts";

interface EditorProps {
  value: string;
  set: (value: string) => void;
  run: () => void;
  /** The error of the query that ran; nothing once the text has changed. */
  fault: SqlPlace | undefined;
  /** The id of the element that shows the error. */
  saidBy: string;
  words: SqlWords | undefined;
  names: SqlNames;
}

/** Lines of the field. */
const [linesMin, linesMax] = [6, 24];

export function SqlEditor({ value, set, run, fault, saidBy, words, names }: EditorProps) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const under = useRef<HTMLPreElement>(null);
  const { offered, offers, active, onTyped, close, accept, onKeyDown } = useOffers({
    field,
    set,
    run,
    words,
    names,
  });
  useEffect(() => {
    if (fault) field.current?.setSelectionRange(fault.start, fault.end);
  }, [fault?.start, fault?.end]);
  const rows = Math.min(linesMax, Math.max(linesMin, value.split("\n").length + 1));
  return (
    <div class="editor">
      <Under text={value} fault={fault} from={offered?.from} place={under} />
      <textarea
        id={`${id}-sql`}
        ref={field}
        value={value}
        rows={rows}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-label="Query in SQL"
        aria-describedby={fault ? saidBy : undefined}
        aria-invalid={fault !== undefined}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        {...(offers.length > 0 && {
          "aria-controls": `${id}-offers`,
          "aria-activedescendant": `${id}-offer-${active}`,
        })}
        onInput={(event) => {
          set(event.currentTarget.value);
          onTyped();
        }}
        onKeyDown={onKeyDown}
        onClick={close}
        onBlur={close}
        onScroll={(event) => {
          if (under.current) under.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
      {offered && offers.length > 0 && (
        <Offers id={id} offered={offered} active={active} accept={accept} under={under} />
      )}
      <span class="visually-hidden" role="status">
        {offers.length > 0 &&
          `${offers.length} names: arrow keys choose, Enter takes ${offers[active]?.name}`}
      </span>
    </div>
  );
}

interface OffersAsked extends Pick<EditorProps, "set" | "run" | "words" | "names"> {
  field: { current: HTMLTextAreaElement | null };
}

/** Which names are offered, which of them is chosen, and what keys do. */
function useOffers({ field, set, run, words, names }: OffersAsked) {
  const [offered, setOffered] = useState<Offered>();
  const [active, setActive] = useState(0);
  const isTyping = useRef(false);
  const offers = offered?.offers ?? [];
  const close = () => {
    isTyping.current = false;
    setOffered(undefined);
  };
  const open = (isAsked: boolean) => {
    const { value: text, selectionStart: caret, selectionEnd } = field.current!;
    if (!words || caret !== selectionEnd) return setOffered(undefined);
    const next = offeredAt(text, caret, words, names);
    const isTyped = next.from < caret || text[caret - 1] === "." || text[caret - 1] === "'";
    const isWhole = next.offers.length === 1 && next.offers[0]!.name === text.slice(next.from, caret);
    setActive(0);
    setOffered((isAsked || isTyped) && !isWhole && next.offers.length > 0 ? next : undefined);
  };
  const onTyped = () => {
    isTyping.current = true;
    open(false);
  };
  // Names that come while somebody types are offered at once.
  useEffect(() => {
    if (isTyping.current) open(false);
  }, [words, names]);
  const accept = (i: number) => {
    const one = field.current;
    if (!one || !offered || !offers[i]) return;
    one.setRangeText(offers[i].text, offered.from, one.selectionStart, "end");
    close();
    set(one.value);
    one.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event;
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
      close();
      run();
    } else if (key === " " && event.ctrlKey) open(true);
    else if (offers.length === 0) return;
    else if (moves[key]) setActive((active + moves[key] + offers.length) % offers.length);
    else if (key === "Enter" || key === "Tab") accept(active);
    else if (key === "Escape") close();
    else return;
    event.preventDefault();
  };
  return { offered, offers, active, onTyped, close, accept, onKeyDown };
}

interface UnderProps {
  text: string;
  fault: SqlPlace | undefined;
  /** Where the word begins that names are offered for. */
  from: number | undefined;
  place: { current: HTMLPreElement | null };
}

/** An invisible copy of the text beneath the field: it carries the error mark, and shows where a letter is. */
function Under({ text, fault, from, place }: UnderProps) {
  const at = from ?? fault?.start ?? 0;
  const end = from === undefined && fault ? fault.end : at;
  return (
    <pre class="under" aria-hidden="true" ref={place}>
      {text.slice(0, at)}
      <mark class={end > at ? "wrong" : ""}>{text.slice(at, end)}</mark>
      {`${text.slice(end)}\n`}
    </pre>
  );
}

interface OffersProps {
  id: string;
  offered: Offered;
  active: number;
  accept: (i: number) => void;
  under: { current: HTMLPreElement | null };
}

function Offers({ id, offered: { offers, from }, active, accept, under }: OffersProps) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const mark = under.current?.querySelector("mark");
    if (!mark || !list.current) return;
    const room = under.current!.clientWidth - list.current.offsetWidth;
    list.current.style.left = `${Math.max(0, Math.min(mark.offsetLeft, room))}px`;
    list.current.style.top = `${mark.offsetTop - under.current!.scrollTop + 24}px`;
  }, [from, offers.length]);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  return (
    <ul class="offers" id={`${id}-offers`} role="listbox" aria-label="Names" ref={list}>
      {offers.map(({ name, kind }, i) => (
        <li
          key={`${kind} ${name}`}
          id={`${id}-offer-${i}`}
          role="option"
          aria-selected={i === active}
          // Not a click, before which the field would lose the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            accept(i);
          }}
        >
          <span>{name}</span>
          <small>{kind}</small>
        </li>
      ))}
    </ul>
  );
}

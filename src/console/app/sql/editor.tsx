// A field for SQL: it completes names while typing, and highlights the error.

import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Offered, offeredAt, type SqlNames, type SqlWords } from "./completion.ts";
import type { ErrorRange } from "./sql_query.ts";

interface EditorProps {
  value: string;
  set: (value: string) => void;
  run: () => void;
  field: { current: HTMLTextAreaElement | null };
  /** The error of the query that ran; nothing once the text has changed. */
  errorRange: ErrorRange | undefined;
  /** The id of the element that shows the error. */
  errorId: string;
  words: SqlWords | undefined;
  names: SqlNames;
}

const [linesMin, linesMax] = [6, 24];

export function SqlEditor(props: EditorProps) {
  const { value, set, field, errorRange, errorId } = props;
  const id = useId();
  const underlay = useRef<HTMLPreElement>(null);
  const { offered, offers, active, onTyped, close, accept, onKeyDown } = useOffers(props);
  useEffect(() => {
    if (errorRange) field.current?.setSelectionRange(errorRange.start, errorRange.end);
  }, [errorRange?.start, errorRange?.end]);
  const rows = Math.min(linesMax, Math.max(linesMin, value.split("\n").length + 1));
  return (
    <div class="editor">
      {renderUnderlay(value, errorRange, offered?.from, underlay)}
      <textarea
        id={`${id}-sql`}
        ref={field}
        value={value}
        rows={rows}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-label="Query in SQL"
        aria-describedby={errorRange ? errorId : undefined}
        aria-invalid={errorRange !== undefined}
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
          if (underlay.current) underlay.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
      {offered && offers.length > 0 && (
        <Offers id={id} offered={offered} active={active} accept={accept} underlay={underlay} />
      )}
      <span class="visually-hidden" role="status">
        {offers.length > 0 &&
          `${offers.length} names: arrow keys choose, Enter takes ${offers[active]?.name}`}
      </span>
    </div>
  );
}

function useOffers({ set, run, words, names, field }: EditorProps) {
  const [offered, setOffered] = useState<Offered>();
  const [active, setActive] = useState(0);
  const isTyping = useRef(false);
  const offers = offered?.offers ?? [];
  const close = () => {
    isTyping.current = false;
    setOffered(undefined);
  };
  const open = (isRequested: boolean) => {
    const { value: text, selectionStart: caret, selectionEnd } = field.current!;
    if (!words || caret !== selectionEnd) return setOffered(undefined);
    const next = offeredAt(text, caret, words, names);
    const isTyped = next.from < caret || text[caret - 1] === "." || text[caret - 1] === "'";
    const isWhole = next.offers.length === 1 && next.offers[0]!.name === text.slice(next.from, caret);
    setActive(0);
    setOffered((isRequested || isTyped) && !isWhole && next.offers.length > 0 ? next : undefined);
  };
  const onTyped = () => {
    isTyping.current = true;
    open(false);
  };
  // Names that are loaded while typing are offered at once.
  useEffect(() => {
    if (isTyping.current) open(false);
  }, [words, names]);
  const accept = (i: number) => {
    const item = field.current;
    if (!item || !offered || !offers[i]) return;
    item.setRangeText(offers[i].text, offered.from, item.selectionStart, "end");
    close();
    set(item.value);
    item.focus();
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

/**
 * An invisible copy of the text beneath the field, with the error's highlight; it positions the offered names.
 * @param from the start of the word that names are offered for.
 */
function renderUnderlay(
  text: string,
  errorRange: ErrorRange | undefined,
  from: number | undefined,
  element: { current: HTMLPreElement | null },
) {
  const at = from ?? errorRange?.start ?? 0;
  const end = from === undefined && errorRange ? errorRange.end : at;
  return (
    <pre class="under" aria-hidden="true" ref={element}>
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
  underlay: { current: HTMLPreElement | null };
}

function Offers({ id, offered: { offers, from }, active, accept, underlay }: OffersProps) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const highlight = underlay.current?.querySelector("mark");
    if (!highlight || !list.current) return;
    const leftMax = underlay.current!.clientWidth - list.current.offsetWidth;
    list.current.style.left = `${Math.max(0, Math.min(highlight.offsetLeft, leftMax))}px`;
    list.current.style.top = `${highlight.offsetTop - underlay.current!.scrollTop + 24}px`;
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
          // Not onClick: the field would lose the focus first.
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

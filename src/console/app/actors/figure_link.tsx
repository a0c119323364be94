// Links from figures to the persons behind them, where a page names the query of its figures.

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { hrefOf } from "../session/route.ts";
import { SessionContext } from "../session/session.ts";
import { type Fields, sourceOf } from "../values.ts";
import type { PersonsQuery } from "./figures.ts";

/** Undefined on the page of a link. */
const FigureQueryContext = createContext<Fields | undefined>(undefined);

/** @param query as it was sent or saved, with the nodes around it. */
export function FiguresOf({ query, children }: { query: unknown; children: ComponentChildren }) {
  return <FigureQueryContext.Provider value={sourceOf(query)}>{children}</FigureQueryContext.Provider>;
}

/**
 * Makes the address of a figure; undefined for a figure without persons, and on the page of a link.
 * @param title names the figure.
 * @param value the figure: behind 0 there is nobody.
 */
export function useFigureHref() {
  const query = useContext(FigureQueryContext);
  const session = useContext(SessionContext);
  return (
    personsQueryIn: (query: Fields) => PersonsQuery | undefined,
    title: string,
    value?: number,
  ): string | undefined => {
    const persons = query && value !== 0 ? personsQueryIn(query) : undefined;
    return persons && hrefOf(session!.project.id, "behind", [], { title, of: JSON.stringify(persons) });
  };
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

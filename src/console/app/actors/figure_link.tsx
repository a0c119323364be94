// Links from figures to the persons behind them, where a page names the query of its figures.

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { useHref } from "../session/session.ts";
import { type Fields, sourceOf } from "../values.ts";
import type { PersonsQuery } from "./figures.ts";

interface FigureQuery {
  query: Fields;
  /** The address of the page with the persons; `title` names the figure. */
  href: (persons: PersonsQuery, title: string) => string;
}

const FigureQueryContext = createContext<FigureQuery | undefined>(undefined);

/** @param query as it was sent or saved, with the nodes around it. */
export function FiguresOf({ query, children }: { query: unknown; children: ComponentChildren }) {
  const hrefOf = useHref();
  const href: FigureQuery["href"] = (persons, title) =>
    hrefOf("behind", [], { title, of: JSON.stringify(persons) });
  return (
    <FigureQueryContext.Provider value={{ query: sourceOf(query), href }}>
      {children}
    </FigureQueryContext.Provider>
  );
}

/**
 * Makes the address of a figure; undefined for a figure without persons, and on the page of a link.
 * @param value the figure: behind 0 there is nobody.
 */
export function useFigureHref() {
  const figures = useContext(FigureQueryContext);
  return (
    personsQueryIn: (query: Fields) => PersonsQuery | undefined,
    title: string,
    value?: number,
  ): string | undefined => {
    const persons = figures && value !== 0 ? personsQueryIn(figures.query) : undefined;
    return persons && figures!.href(persons, title);
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

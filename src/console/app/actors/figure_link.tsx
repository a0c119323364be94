// Links from figures to the persons behind them, where a page names the query of its figures.

import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { hrefOf } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { innerQuery, type PersonsAsked, type QueryFields } from "./figures.ts";

interface Behind {
  query: QueryFields;
  /** The address of the page with the persons; `title` names the figure. */
  href: (asked: PersonsAsked, title: string) => string;
}

const BehindContext = createContext<Behind | undefined>(undefined);

/** @param query as it was asked or saved, with the nodes around it. */
export function FiguresOf({ query, children }: { query: unknown; children: ComponentChildren }) {
  const { project } = useSession();
  const href: Behind["href"] = (asked, title) =>
    hrefOf(project.id, "behind", [], { title, of: JSON.stringify(asked) });
  return (
    <BehindContext.Provider value={{ query: innerQuery(query), href }}>{children}</BehindContext.Provider>
  );
}

/**
 * Makes the address of a figure; undefined for a figure without persons, and on the page of a link.
 * @param value of the figure: behind none there is nobody.
 */
export function useBehind() {
  const behind = useContext(BehindContext);
  return (
    askedIn: (query: QueryFields) => PersonsAsked | undefined,
    title: string,
    value?: number,
  ): string | undefined => {
    const asked = behind && value !== 0 ? askedIn(behind.query) : undefined;
    return asked && behind!.href(asked, title);
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

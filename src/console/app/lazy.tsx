// Pages whose scripts are loaded when they are first opened: the first script stays small.

import { type ComponentType } from "preact";
import type { Route } from "./session/route.ts";
import { useLoaded } from "./session/use_loaded.ts";
import { PageWhenLoaded } from "./ui/parts.tsx";

type Page = ComponentType<{ route: Route }>;

/** @param load imports the page's own script. */
export function lazy(title: string, load: () => Promise<Page>): Page {
  const loadPage = () =>
    load().catch(() => {
      throw new Error("This page could not be loaded. Reload it: the server may have a newer version.");
    });
  return function LazyPage(props) {
    const loaded = useLoaded(loadPage, []);
    return (
      <PageWhenLoaded loaded={loaded} title={title}>
        {(Loaded) => <Loaded {...props} />}
      </PageWhenLoaded>
    );
  };
}

// Reads which page is shown: `#/<project>/<page>/<more>?<query>`. Nothing of it is sent to the server.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The id of a project, as in the address; empty for the first project. */
  project: string;
  page: string;
  more: string[];
  query: URLSearchParams;
}

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [project = "", page = "", ...more] = path.split("/").map(decoded);
  return { project, page, more: more.filter(Boolean), query: new URLSearchParams(query) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return readRoute(hash);
}

export function buildHref(
  project: number,
  page: string,
  more: readonly (string | number)[] = [],
  query: Record<string, string> | string = {},
): string {
  const path = [project, page, ...more].map((segment) => encodeURIComponent(segment)).join("/");
  const params = new URLSearchParams(query);
  return `#/${path}${params.size > 0 ? `?${params}` : ""}`;
}

export function navigate(href: string): void {
  location.hash = href;
}

const codeLink = /^#code=([0-9A-Za-z]{1,100})$/;

export function hasCode(): boolean {
  return codeLink.test(location.hash);
}

/** The code of a sign-in link, taken out of the address so that it is not in the history. */
export function readCode(): string | undefined {
  const code = codeLink.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, "", "#/");
  return code;
}

export interface Invitation {
  id: string;
  token: string;
}

/** The invitation of a link, taken out of the address likewise. */
export function readInvitation(): Invitation | undefined {
  const [, id, token] = /^#invite=([0-9a-f-]{36})\.([0-9A-Za-z]{1,100})$/.exec(location.hash) ?? [];
  if (id === undefined || token === undefined) return undefined;
  history.replaceState(null, "", "#/");
  return { id, token };
}

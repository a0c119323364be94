// Who is signed in, by the session of this browser or the key of this tab; what it may do; the project that is shown.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { readerScopes } from "../../../access/people/reader_scopes.ts";
import type { Api } from "./api.ts";
import { buildHref, navigate } from "./route.ts";

export interface ProjectRow {
  id: number;
  name: string;
  api_token: string;
  organization: string;
  timezone: string;
  session_recording_opt_in: boolean;
  session_recording_load_hosts?: string[];
  capture_console_log_opt_in?: boolean | null;
  /** The filters that events of customers pass, and own visits do not. */
  test_account_filters?: unknown[];
  sharing_embed_hosts?: string[];
  week_start_day?: number | null;
  cookieless_server_hash_mode: number;
  event_retention_days: number | null;
  daily_event_quota: number | null;
  effective_membership_level?: number;
}

export interface Session {
  /** Its paths are below `home`, unless they begin with a slash. */
  api: Api;
  /** The API's path of the chosen project, like `/api/projects/1`. */
  home: string;
  project: ProjectRow;
  projects: readonly ProjectRow[];
  /** Those that the project allows. */
  scopes: readonly string[];
  /** Those of the key or session, for what belongs to no project. */
  ownScopes: readonly string[];
  /** Whether the user only reads the project: figures, but no events or persons one by one. */
  isReader: boolean;
  /** Loads the projects again, after one was created or changed. */
  refresh(): void;
  signOut(): void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** The project's time zone: days and charts are in it, single moments in the reader's. */
export const ZoneContext = createContext("UTC");

export function useZone(): string {
  return useContext(ZoneContext);
}

/** Returns the session for pages that need a sign-in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("this page requires signing in");
  return session;
}

/** Whether a key with these scopes may do what needs `required`. */
export function allows(scopes: readonly string[], required: string): boolean {
  if (scopes.includes("*") || scopes.includes(required)) return true;
  return required.endsWith(":read") && scopes.includes(`${required.slice(0, -5)}:write`);
}

/** Narrows the scopes of a key to those that the project lets its user have. */
export function scopesIn(
  { effective_membership_level: level = 1 }: Pick<ProjectRow, "effective_membership_level">,
  scopes: readonly string[],
) {
  const isReader = level < 1;
  const narrowed = isReader ? readerScopes.filter((scope) => allows(scopes, scope)) : scopes;
  return { isReader, scopes: narrowed, ownScopes: scopes };
}

/** Whether events may be shown one by one, and the values of their properties. */
export function useSeesEvents(): boolean {
  return useAllowed("query:read") && !useSession().isReader;
}

export function useAllowed(required: string): boolean {
  return allows(useSession().scopes, required);
}

export function useHref() {
  const { project } = useSession();
  return (...page: PageAddress) => buildHref(project.id, ...page);
}

/** Opens the page of something, such as what was created. */
export function useOpen(page: string) {
  const hrefOf = useHref();
  return ({ id }: { id: string | number }) => navigate(hrefOf(page, [id]));
}

/** A page, what its address names, and its parameters. */
export type PageAddress = Parameters<typeof buildHref> extends [unknown, ...infer Rest] ? Rest : never;

const keyName = "sluice_personal_api_key";

/** The key of this tab, where the browser has no session: closing the tab signs out. */
export function storedKey(): string | null {
  return sessionStorage.getItem(keyName);
}

export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(keyName);
  else sessionStorage.setItem(keyName, key);
}

/** Set in every tab of a browser that is signed in: the session itself is a cookie that no script reads. */
const signedInKey = "sluice_signed_in";

export function isKnownSignedIn(): boolean {
  return localStorage.getItem(signedInKey) !== null;
}

export function setKnownSignedIn(on: boolean): void {
  if (on) localStorage.setItem(signedInKey, "1");
  else localStorage.removeItem(signedInKey);
}

/** Calls `out` when another tab signs out. Returns what stops it. */
export function onSignedOutElsewhere(out: () => void): () => void {
  const follow = ({ key, newValue }: StorageEvent) =>
    void (key === signedInKey && newValue === null && out());
  addEventListener("storage", follow);
  return () => removeEventListener("storage", follow);
}

// Who is signed in, by the session of this browser or the key of this tab; what it may do; the project looked at.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Api } from "./api.ts";

export interface ProjectRow {
  id: number;
  name: string;
  api_token: string;
  organization: string;
  timezone: string;
  session_recording_opt_in: boolean;
  session_recording_load_hosts?: string[];
  cookieless_server_hash_mode: number;
  event_retention_days: number | null;
  daily_event_quota: number | null;
  created_at: string;
}

export interface Session {
  api: Api;
  /** The API's path of the chosen project, like `/api/projects/1`. */
  home: string;
  project: ProjectRow;
  projects: readonly ProjectRow[];
  scopes: readonly string[];
  /** Asks for the projects again, after one was made or changed. */
  refresh(): void;
  signOut(): void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

/** For pages that need a sign-in. */
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

export function useAllowed(required: string): boolean {
  return allows(useSession().scopes, required);
}

const stored = "sluice_personal_api_key";

/** The key of this tab, where the browser has no session: closing the tab signs out. */
export function storedKey(): string | null {
  return sessionStorage.getItem(stored);
}

export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, key);
}

/** Says in every tab whether this browser is signed in. The session itself is a cookie that no script reads. */
const mark = "sluice_signed_in";

export function isMarked(): boolean {
  return localStorage.getItem(mark) !== null;
}

export function setMark(on: boolean): void {
  if (on) localStorage.setItem(mark, "1");
  else localStorage.removeItem(mark);
}

/** Calls back when another tab signs out. Returns what stops it. */
export function followMark(out: () => void): () => void {
  const follow = ({ key, newValue }: StorageEvent) => void (key === mark && newValue === null && out());
  addEventListener("storage", follow);
  return () => removeEventListener("storage", follow);
}

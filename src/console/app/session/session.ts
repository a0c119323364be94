// Who is signed in: the key of this tab, what it may do, and the project that is looked at.

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

/** For pages behind the sign-in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("this page is shown to nobody who is not signed in");
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

/** For this tab only: closing it signs out. */
export function storedKey(): string | null {
  return sessionStorage.getItem(stored);
}

export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(stored);
  else sessionStorage.setItem(stored, key);
}

// The time zones of a page: days and charts are in the project's time zone, single moments in the reader's.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

export const ZoneContext = createContext("UTC");

export function useZone(): string {
  return useContext(ZoneContext);
}

/** The text at the foot of each page. */
export function clockText(project: string, browser: string): string {
  if (project === browser) return `Times are in the time zone ${project}, the project’s and yours.`;
  return `Days, charts and SQL are in the project’s time zone, ${project}; other times in yours, ${browser}.`;
}

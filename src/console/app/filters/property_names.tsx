// The names of the project that the fields of a form offer while typing: events with their number, properties by owner.

import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import { noNames, useProjectNames } from "../session/project_names.ts";
import { numberText } from "../ui/format.ts";
import type { Owner } from "./conditions.ts";

const OfferedContext = createContext({ names: noNames, lists: "" });

/** @param children whose fields offer the names. */
export function WithNames({ children }: { children: ComponentChildren }) {
  const offered = { names: useProjectNames(), lists: useId() };
  const { events, properties } = offered.names;
  return (
    <OfferedContext.Provider value={offered}>
      <datalist id={`${offered.lists}-events`}>
        {events.map(({ name, volume_30_day }) => (
          <option key={name} value={name} label={`${numberText(volume_30_day)} in 30 days`} />
        ))}
      </datalist>
      {Object.entries(properties).map(([owner, names]) => (
        <datalist key={owner} id={`${offered.lists}-${owner}`}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
      {children}
    </OfferedContext.Provider>
  );
}

/** The names, and the id of the list of events, or of an owner's properties. */
export function useOffered() {
  const { names, lists } = useContext(OfferedContext);
  return { names, nameList: (of: Owner | "events") => `${lists}-${of}` };
}

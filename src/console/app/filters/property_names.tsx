// Names of properties that are offered while typing: of the whole project.

import type { ProjectNames } from "../session/project_names.ts";
import { listIdOf } from "./condition_fields.tsx";

export function PropertyNames({ lists, names: { properties } }: { lists: string; names: ProjectNames }) {
  return (
    <>
      {Object.entries(properties).map(([owner, own]) => (
        <datalist key={owner} id={listIdOf(lists, owner)}>
          {own.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      ))}
    </>
  );
}

// Deleting the thing that a page shows: asked twice, then back to the list.

import { useSession } from "../session/session.ts";
import { go } from "../session/route.ts";
import type { Action } from "../session/use_loaded.ts";
import { SureButton } from "./parts.tsx";

interface RemoveProps {
  /** Of the thing in the API. */
  path: string;
  sure: string;
  action: Action;
  /** Where to go then. */
  back: string;
}

export function RemoveButton({ path, sure, action, back }: RemoveProps) {
  const { api } = useSession();
  const remove = () =>
    action.run(async () => {
      await api.send("DELETE", path);
      go(back);
      return "Deleted.";
    });
  return <SureButton label="Delete" sure={sure} act={remove} />;
}

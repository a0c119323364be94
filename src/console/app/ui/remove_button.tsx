// A button that deletes what the page shows, after asking again, and goes back to the list.

import { go } from "../session/route.ts";
import type { Action } from "../session/use_loaded.ts";
import { SureButton } from "./parts.tsx";

interface RemoveProps {
  /** Its path in the API. */
  path: string;
  sure: string;
  action: Action;
  /** The page to go to afterwards. */
  back: string;
}

export function RemoveButton({ path, sure, action, back }: RemoveProps) {
  const remove = () => action.send("DELETE", path, undefined, "Deleted.", () => go(back));
  return <SureButton label="Delete" sure={sure} act={remove} />;
}

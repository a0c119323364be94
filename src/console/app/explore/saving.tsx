// Saving a query as an insight: as a new one, or in place of the one that is edited.

import { navigate } from "../session/route.ts";
import { useAllowed, useHref, useOpen } from "../session/session.ts";
import { useAction, useGet } from "../session/use_loaded.ts";
import { Form } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Button, Cut, LoadError, Outcome } from "../ui/parts.tsx";

/** Whether the key may save a query, which also requires the right to run it. */
export function useMaySave(): boolean {
  const mayQuery = useAllowed("query:read");
  return useAllowed("insight:write") && mayQuery;
}

interface SavingProps {
  /** Makes what is saved; `before` is what the insight has, undefined for a new one. */
  makeQuery: (before: unknown) => object;
  /** The insight that is edited; 0 for none. */
  insight: number;
  isReady?: boolean;
}

export function Saving({ makeQuery, insight, isReady = true }: SavingProps) {
  if (!useMaySave()) return null;
  return (
    <div class="saving">
      {insight > 0 && <SaveChanges key={insight} {...{ makeQuery, insight, isReady }} />}
      <SaveNew makeQuery={makeQuery} isReady={isReady} />
    </div>
  );
}

function SaveNew({ makeQuery, isReady = true }: Pick<SavingProps, "makeQuery" | "isReady">) {
  const open = useOpen("insights");
  const { fields, text } = useFields({ name: "" });
  const action = useAction();
  const body = () => ({ query: makeQuery(undefined), name: fields.name || null });
  const save = () => action.send("POST", "insights/", body, "Saved.", open);
  return (
    <>
      <Form send={save}>
        {text("name", "Name of the insight", { placeholder: "Name of the insight" })}
        <Button type="submit" disabled={action.running || !isReady}>
          Save as insight
        </Button>
      </Form>
      <Outcome action={action} />
    </>
  );
}

const nameLettersMax = 60;

function SaveChanges({ makeQuery, insight, isReady = true }: SavingProps) {
  const path = `insights/${insight}/`;
  const loaded = useGet<{ name: string | null; derived_name: string | null; query: unknown }>(path, {
    refresh: "false",
  });
  const action = useAction();
  const { value: saved } = loaded;
  const href = useHref()("insights", [insight]);
  const body = () => ({ query: makeQuery(saved!.query) });
  const save = () => action.send("PATCH", path, body, "Saved.", () => navigate(href));
  return (
    <>
      <LoadError loaded={loaded} />
      <p class="page-actions">
        <Button kind="primary" disabled={action.running || !isReady || !saved} onClick={save}>
          Save changes
        </Button>
        <span class="quiet">
          of{" "}
          <a href={href}>
            <Cut
              text={saved?.name || saved?.derived_name || `insight ${insight}`}
              lettersMax={nameLettersMax}
            />
          </a>{" "}
          wherever it is shown or sent
        </span>
      </p>
      <Outcome action={action} />
    </>
  );
}

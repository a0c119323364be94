// Personal API keys: created, rolled, revoked. A value is shown once.

import { useEffect, useRef, useState } from "preact/hooks";
import { readerScopes } from "../../../access/people/reader_scopes.ts";
import type { ListReply } from "../session/api.ts";
import { useSession } from "../session/session.ts";
import { useAction, useRead } from "../session/use_loaded.ts";
import { Copied } from "../ui/copying.tsx";
import { agoText } from "../ui/format.ts";
import { CheckField, ConfirmButton, FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Card, Outcome, PageHead, WhenLoaded } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

interface KeyRow {
  id: string;
  label: string;
  mask_value: string;
  scopes: string[];
  last_used_at: string | null;
}

interface IssuedKey extends KeyRow {
  value: string;
}

export function Keys() {
  const loaded = useRead(async (api, signal) => {
    const [keys, current] = await Promise.all([
      api.get<ListReply<KeyRow>>("/api/personal_api_keys/", { limit: 200 }, signal),
      api.get<KeyRow>("/api/personal_api_keys/@current/", {}, signal),
    ]);
    return { keys: keys.results, usedId: current.id };
  }, []);
  const [issued, setIssued] = useState<IssuedKey>();
  const action = useAction();
  const show = (key: IssuedKey) => {
    setIssued(key);
    loaded.reload();
  };
  const rolled = "Rolled. The old value is no longer valid.";
  const roll = ({ id }: KeyRow) =>
    action.send("POST", `/api/personal_api_keys/${id}/roll/`, {}, rolled, show);
  const revoke = ({ id, label }: KeyRow) => {
    const done = `${label} is revoked.`;
    action.send("DELETE", `/api/personal_api_keys/${id}/`, undefined, done, loaded.reload);
  };
  return (
    <>
      <PageHead title="Personal API keys" />
      {issued && <Issued key={issued.value} issued={issued} />}
      <Outcome action={action} />
      <Card>
        <WhenLoaded loaded={loaded}>
          {({ keys, usedId }) => (
            <Table
              caption="Personal API keys"
              rows={keys}
              columns={({ column, fixedColumn }) => [
                column("Label", (row) => row.label),
                fixedColumn("Key", (row) => <code>{row.mask_value}</code>),
                column("Scopes", (row) => row.scopes.join(", ")),
                fixedColumn("Used", (row) => agoText(row.last_used_at)),
                column("What to do", (row) =>
                  row.id === usedId ? (
                    <span class="tag">used by this tab</span>
                  ) : (
                    <>
                      <ConfirmButton
                        label="Roll"
                        sure="The old value stops working at once."
                        act={() => roll(row)}
                      />{" "}
                      <ConfirmButton
                        label="Revoke"
                        sure="It stops working at once, permanently."
                        act={() => revoke(row)}
                      />
                    </>
                  ),
                ),
              ]}
            />
          )}
        </WhenLoaded>
      </Card>
      {(loaded.value !== undefined || !loaded.loading) && <NewKey show={show} />}
    </>
  );
}

/** The value of a new key, which the API does not show again. It is scrolled into view and gets the focus. */
function Issued({ issued: { label, value } }: { issued: IssuedKey }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    element.current?.scrollIntoView({ block: "nearest" });
    element.current?.focus();
  }, []);
  return (
    <div class="notice good issued" role="group" aria-label="The new key" tabIndex={-1} ref={element}>
      <p>
        This is the new value of “{label}”. It is shown this once: copy it now, to where you keep secrets.
      </p>
      <Copied text={value} label="the new key" />
    </div>
  );
}

/** Scopes that people make keys for. The API takes others, too. */
const usual = (
  "query:read insight:read insight:write dashboard:read dashboard:write person:read group:read " +
  "session_recording:read batch_export:read batch_export:write subscription:read subscription:write " +
  "project:read project:write"
).split(" ");

function NewKey({ show }: { show: (key: IssuedKey) => void }) {
  const { project, isReader } = useSession();
  const { fields, change, text, check } = useFields({
    label: "",
    all: false,
    scopes: ["query:read", "project:read"],
    isLimited: false,
  });
  const { label, all, scopes, isLimited } = fields;
  const body = { label, scopes: all ? ["*"] : scopes, scoped_teams: isLimited ? [project.id] : [] };
  const done = "Created. Its value is shown above, this once.";
  const created = (key: IssuedKey) => {
    show(key);
    change({ label: "" });
  };
  const toggle = (scope: string, on: boolean) =>
    change({ scopes: on ? [...scopes, scope] : scopes.filter((name) => name !== scope) });
  return (
    <FormCard title="New key" send={(send) => send("POST", "/api/personal_api_keys/", body, done, created)}>
      {text("label", "Label", { required: true })}
      {check("isLimited", `Only for ${project.name}`)}
      {!isReader && check("all", "All scopes (*)")}
      {!all && (
        <fieldset class="whole">
          <legend>Scopes</legend>
          <div class="checks">
            {(isReader ? readerScopes : usual).map((scope) => (
              <CheckField
                key={scope}
                label={scope}
                value={scopes.includes(scope)}
                set={(on) => toggle(scope, on)}
              />
            ))}
          </div>
        </fieldset>
      )}
    </FormCard>
  );
}

// One's own account: name, address and password, and the browsers that are signed in.

import type { ListReply } from "../session/api.ts";
import { type Action, type Loaded, useAction, useGet } from "../session/use_loaded.ts";
import { agoText, browserText } from "../ui/format.ts";
import { ConfirmButton, FormCard } from "../ui/forms.tsx";
import { passwordNew, passwordNow, signInAddress, useFields } from "../ui/inputs.tsx";
import { LoadedTable } from "../ui/list_page.tsx";
import { Card, Outcome, PageHead, WhenLoaded } from "../ui/parts.tsx";

export interface OwnUser {
  email: string;
  first_name: string;
  has_password: boolean;
}

const path = "/api/users/@me/";

export function OwnAccount() {
  const loaded = useGet<OwnUser>(path);
  return (
    <>
      <PageHead title="Account" />
      <WhenLoaded loaded={loaded}>
        {(user) => (
          <>
            <div class="cards">
              <Names user={user} changed={loaded.reload} />
              <PasswordCard user={user} changed={loaded.reload} title="Password" />
            </div>
            <Sessions />
          </>
        )}
      </WhenLoaded>
    </>
  );
}

function Names({ user, changed }: { user: OwnUser; changed: () => void }) {
  const { fields, text } = useFields({ first_name: user.first_name });
  const save = (send: Action["send"]) => send("PATCH", path, fields, "Saved.", changed);
  return (
    <FormCard title={user.email} send={save} button="Save">
      {text("first_name", "First name", { autocomplete: "given-name" })}
    </FormCard>
  );
}

/** A first password, with the address that signs in from then on, or another one. */
export function PasswordCard({ user, changed, title }: { user: OwnUser; changed(): void; title: string }) {
  const { has_password: has } = user;
  const { fields, change, text } = useFields({ email: user.email, current_password: "", password: "" });
  const { email, current_password, password } = fields;
  const body = { password, ...(has ? { current_password } : { email }) };
  const done = has
    ? "Changed. Your other browsers are signed out; your keys stay."
    : `Password set. Sign in as ${email} from now on.`;
  const save = (send: Action["send"]) =>
    send("PATCH", path, body, done, () => {
      change({ current_password: "", password: "" });
      changed();
    });
  const button = has ? "Change the password" : "Set the password";
  return (
    <FormCard title={title} send={save} button={button}>
      {has
        ? text("current_password", "Current password", passwordNow)
        : text("email", "E-mail address", signInAddress)}
      {text("password", "New password", { ...passwordNew, hint: "At least 8 characters." })}
    </FormCard>
  );
}

interface SessionRow {
  id: string;
  user_agent: string;
  key_label: string | null;
  is_current: boolean;
  created_at: string;
  last_used_at: string | null;
}

function Sessions() {
  const loaded: Loaded<ListReply<SessionRow>> = useGet(`${path}sessions/`);
  const action = useAction();
  const end = ({ id }: SessionRow) =>
    action.send("DELETE", `${path}sessions/${id}/`, undefined, "That browser is signed out.", loaded.reload);
  return (
    <Card title="Signed in">
      <Outcome action={action} />
      <LoadedTable
        loaded={loaded}
        caption="Browsers that are signed in"
        empty="This tab alone, with a key."
        columns={({ column, fixedColumn }) => [
          column("Browser", (row) => browserText(row.user_agent)),
          column("By", (row) => (row.key_label === null ? "password" : `key “${row.key_label}”`)),
          fixedColumn("Since", (row) => agoText(row.created_at)),
          fixedColumn("Used", (row) => agoText(row.last_used_at)),
          column("What to do", (row) =>
            row.is_current ? (
              <span class="tag">this browser</span>
            ) : (
              <ConfirmButton label="Sign out" sure="It has to sign in again." act={() => end(row)} />
            ),
          ),
        ]}
      />
    </Card>
  );
}

// One's own account: name, address and password, and the browsers that are signed in.

import type { ListReply } from "../session/api.ts";
import { type Loaded, useAction, useGet } from "../session/use_loaded.ts";
import { agoText, browserText } from "../ui/format.ts";
import { passwordNew, passwordNow, signInAddress, useFields } from "../ui/inputs.tsx";
import { LoadedTable } from "../ui/list_page.tsx";
import { Card, ConfirmButton, FormCard, Outcome, PageHead, WhenLoaded } from "../ui/parts.tsx";

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
  const action = useAction();
  const save = () => action.send("PATCH", path, fields, "Saved.", changed);
  return (
    <FormCard title={user.email} send={save} action={action} button="Save">
      {text("first_name", "First name", { autocomplete: "given-name" })}
    </FormCard>
  );
}

interface PasswordProps {
  user: OwnUser;
  changed: () => void;
  title: string;
}

/** A first password, with the address that signs in from then on, or another one. */
export function PasswordCard({ user, changed, title }: PasswordProps) {
  const { has_password: has } = user;
  const { fields, change, text } = useFields({ email: user.email, current_password: "", password: "" });
  const { email, current_password, password } = fields;
  const action = useAction();
  const body = { password, ...(has ? { current_password } : { email }) };
  const done = has
    ? "Changed. Your other browsers are signed out; your keys stay."
    : `Password set. Sign in as ${email} from now on.`;
  const save = () =>
    action.send("PATCH", path, body, done, () => {
      change({ current_password: "", password: "" });
      changed();
    });
  const button = has ? "Change the password" : "Set the password";
  return (
    <FormCard title={title} send={save} action={action} button={button}>
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
        columns={[
          { name: "Browser", cell: (row) => browserText(row.user_agent) },
          { name: "By", cell: (row) => (row.key_label === null ? "password" : `key “${row.key_label}”`) },
          { name: "Since", cell: (row) => agoText(row.created_at), fixed: true },
          { name: "Used", cell: (row) => agoText(row.last_used_at), fixed: true },
          {
            name: "What to do",
            cell: (row) =>
              row.is_current ? (
                <span class="tag">this browser</span>
              ) : (
                <ConfirmButton label="Sign out" sure="It has to sign in again." act={() => end(row)} />
              ),
          },
        ]}
      />
    </Card>
  );
}

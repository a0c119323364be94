// A sharing link: created, shown, copied, replaced, revoked.

import { useEffect, useState } from "preact/hooks";
import { useAllowed, useSession } from "../session/session.ts";
import { type Action, useAction } from "../session/use_loaded.ts";
import { Copied } from "./copying.tsx";
import { CheckField, TextField } from "./forms.tsx";
import { Button, Card, Outcome } from "./parts.tsx";

interface SharingReply {
  enabled: boolean;
  access_token: string | null;
  shown_properties: string[];
  properties_to_confirm: string[];
  not_shown: { insight_id: number; name: string; reason: string }[];
  password_required: boolean;
  share_passwords: { id: number; note: string; created_by_email: string }[];
  expires_at: string | null;
}

/**
 * @param path the API's path of what is shared, without a slash at its end.
 * @param what as in "can see the recording".
 */
export function Sharing({ path, what }: { path: string; what: string }) {
  const { api } = useSession();
  const seesSharing = useAllowed("sharing_configuration:read");
  const mayShare = useAllowed("sharing_configuration:write");
  const [shared, setShared] = useState<SharingReply>();
  const action = useAction();
  useEffect(() => {
    if (seesSharing) api.get<SharingReply>(`${path}/sharing/`).then(setShared, () => undefined);
  }, [path]);
  if (!shared) return null;
  const change = (body: object, done: string) =>
    action.send("PATCH", `${path}/sharing/`, body, done, setShared);
  const changeSharing = (enabled: boolean) => {
    const sharedText = `Shared: everybody with the link can see the ${what}.`;
    change({ enabled }, enabled ? sharedText : "No longer shared: the link is not valid any more.");
  };
  const { shown_properties: confirmed, properties_to_confirm: others } = shared;
  const confirm = (name: string, isShown: boolean) =>
    change(
      { shown_properties: isShown ? [...confirmed, name] : confirmed.filter((item) => item !== name) },
      isShown ? `The link may show ${name}.` : `The link no longer shows ${name}.`,
    );
  const done = "There is a new link. The old one is not valid any more.";
  const renew = () => action.send("POST", `${path}/sharing/refresh/`, undefined, done, setShared);
  return (
    <Card title="Sharing" wide>
      {mayShare && confirmed.length + others.length > 0 && (
        <fieldset class="plain">
          <legend>SQL names these properties. Whoever has the link may see the values of:</legend>
          {[...confirmed, ...others].sort().map((name) => (
            <CheckField
              key={name}
              label={name}
              value={confirmed.includes(name)}
              set={(isShown) => confirm(name, isShown)}
            />
          ))}
        </fieldset>
      )}
      {shared.enabled &&
        shared.not_shown.map(({ insight_id, name, reason }) => (
          <p key={insight_id} class="notice">
            The link does not show “{name}”. Members alone see why: {reason}
          </p>
        ))}
      {shared.enabled ? (
        <>
          {shared.access_token === null ? (
            <p class="quiet">The link cannot be shown: it was made with another SECRET_KEY.</p>
          ) : (
            <Copied text={`${location.origin}/shared/${shared.access_token}/`} label="the link" />
          )}
          {mayShare && (
            <p class="page-actions">
              <Button onClick={() => changeSharing(false)}>Stop sharing</Button>
              <Button onClick={renew}>Replace the link</Button>
            </p>
          )}
          {mayShare && (
            <LinkBounds path={`${path}/sharing/`} shared={shared} set={setShared} action={action} />
          )}
        </>
      ) : (
        mayShare && <Button onClick={() => changeSharing(true)}>Share by a link</Button>
      )}
      <Outcome action={action} />
    </Card>
  );
}

interface BoundsProps {
  path: string;
  shared: SharingReply;
  set: (shared: SharingReply) => void;
  action: Action;
}

/** The link's end and passwords. */
function LinkBounds({ path, shared, set, action }: BoundsProps) {
  const { password_required: asks, share_passwords: passwords, expires_at } = shared;
  const [made, setMade] = useState("");
  const change = (body: object, done: string) => action.send("PATCH", path, body, done, set);
  const reload = () => change({}, "Saved.");
  const makePassword = () =>
    action.send<{ password: string }>("POST", `${path}passwords/`, {}, "A new password.", ({ password }) => {
      setMade(password);
      reload();
    });
  const remove = (id: number) =>
    action.send("DELETE", `${path}passwords/${id}/`, undefined, "The password opens nothing now.", reload);
  const setEnd = (day: string) =>
    change({ expires_at: day === "" ? null : new Date(`${day}T23:59:59`).toISOString() }, "Saved.");
  return (
    <>
      <div class="form">
        <TextField label="Last day of the link" type="date" value={dayIn(expires_at)} set={setEnd} />
        <CheckField
          label="Ask for a password"
          value={asks}
          set={(password_required) => change({ password_required }, "Saved.")}
        />
      </div>
      {asks && (
        <>
          {passwords.length === 0 && (
            <p class="notice">Nobody can open the link before there is a password.</p>
          )}
          {made && <Copied text={made} label="the password, which is shown once" />}
          <ul class="plain">
            {passwords.map(({ id, created_by_email }, i) => (
              <li key={id}>
                Password {i + 1}, by {created_by_email} <Button onClick={() => remove(id)}>Remove</Button>
              </li>
            ))}
          </ul>
          <Button onClick={makePassword}>Make a password</Button>
        </>
      )}
    </>
  );
}

/** The day of a moment in the browser's zone, as a field of a date has it. */
function dayIn(moment: string | null): string {
  return moment === null ? "" : new Date(moment).toLocaleDateString("sv");
}

// A sharing link: created, shown, copied, replaced, revoked.

import { useEffect, useState } from "preact/hooks";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction } from "../session/use_loaded.ts";
import { Copied } from "./copying.tsx";
import { CheckField } from "./forms.tsx";
import { Button, Card, Outcome } from "./parts.tsx";

interface SharingReply {
  enabled: boolean;
  access_token: string | null;
  shown_properties: string[];
  properties_to_confirm: string[];
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
        </>
      ) : (
        mayShare && <Button onClick={() => changeSharing(true)}>Share by a link</Button>
      )}
      <Outcome action={action} />
    </Card>
  );
}

// The page of an invitation's link: who is invited to what, and the password that accepts it.

import { useEffect, useState } from "preact/hooks";
import { readReply, sendSigning, toCredentials } from "../session/api.ts";
import type { Invitation } from "../session/route.ts";
import { agoText, browserText } from "../ui/format.ts";
import { Form } from "../ui/forms.tsx";
import { passwordNew, useFields } from "../ui/inputs.tsx";
import { Button, ErrorText } from "../ui/parts.tsx";

interface Invited {
  organization_name: string;
  target_email: string;
  first_name: string;
}

async function readInvitation({ id, token }: Invitation): Promise<Invited> {
  const { headers, ...credentials } = toCredentials(null);
  const signedHeaders = { ...headers, authorization: `Bearer ${token}` };
  return await readReply<Invited>(`/api/signup/${id}/`, { ...credentials, headers: signedHeaders });
}

/** Keys and sessions that the account had before: who knew its password earlier may hold it. */
interface Had {
  personal_api_keys: { id: string; label: string; mask_value: string; last_used_at: string | null }[];
  sessions: { id: string; user_agent: string; last_used_at: string | null }[];
}

function ReviewAccount({ personal_api_keys: keys, sessions, next }: Had & { next: () => void }) {
  const usedText = (at: string | null) => (at === null ? "never used" : `used ${agoText(at)}`);
  return (
    <>
      <h2>Are these yours?</h2>
      <p>
        You have joined. Your account has these keys and browsers. Revoke what you do not know on the pages
        Keys and Account, and change the password.
      </p>
      <ul>
        {keys.map(({ id, label, mask_value, last_used_at }) => (
          <li key={id}>
            Key “{label}” <code>{mask_value}</code>, {usedText(last_used_at)}
          </li>
        ))}
        {sessions.map(({ id, user_agent, last_used_at }) => (
          <li key={id}>
            {browserText(user_agent)}, signed in, {usedText(last_used_at)}
          </li>
        ))}
      </ul>
      <Button kind="primary" onClick={next}>
        Continue
      </Button>
    </>
  );
}

export function AcceptInvitation({ invitation, accepted }: { invitation: Invitation; accepted: () => void }) {
  const { id, token } = invitation;
  const [invited, setInvited] = useState<Invited>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const [had, setHad] = useState<Had>();
  const { fields, change, text } = useFields({ first_name: "", password: "" });
  useEffect(() => {
    document.title = "Invitation · Sluice";
    readInvitation(invitation).then((found) => {
      setInvited(found);
      change({ first_name: found.first_name });
    }, setError);
  }, [id]);
  const send = () => {
    setBusy(true);
    setError(undefined);
    sendSigning<Had>(`/api/signup/${id}/`, fields, { authorization: `Bearer ${token}` })
      .then((found) => {
        if (found.personal_api_keys.length + found.sessions.length > 0) setHad(found);
        else accepted();
      })
      .catch(setError)
      .finally(() => setBusy(false));
  };
  if (had) return <ReviewAccount {...had} next={accepted} />;
  if (!invited) {
    return (
      <>
        <ErrorText error={error} />
        {error === undefined ? (
          <p>Loading …</p>
        ) : (
          <p class="page-actions">
            <Button onClick={() => location.reload()}>Try again</Button> <a href="/">Sign in</a>
          </p>
        )}
      </>
    );
  }
  return (
    <>
      <h2>Join {invited.organization_name}</h2>
      <p>
        You are invited as <strong>{invited.target_email}</strong>. Choose a password, of at least 8
        characters; if you have an account here already, give its own.
      </p>
      <ErrorText error={error} />
      <Form send={send}>
        {text("first_name", "First name", { autocomplete: "given-name" })}
        {text("password", "Password", passwordNew)}
        <Button type="submit" kind="primary" disabled={busy}>
          Join
        </Button>
      </Form>
    </>
  );
}

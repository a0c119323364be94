// Signing in with a password or a key, by the link of the first start or of an invitation. The session covers all tabs;
// the address that was opened is shown afterwards.

import { useEffect, useState } from "preact/hooks";
import {
  readRefusal,
  readReply,
  sendRequest,
  sendSigning,
  ServerUnreachable,
  toCredentials,
} from "../session/api.ts";
import { hasCode, readCode, readInvitation } from "../session/route.ts";
import {
  isKnownSignedIn,
  onSignedOutElsewhere,
  setKnownSignedIn,
  storedKey,
  storeKey,
} from "../session/session.ts";
import { retryMs } from "../session/use_loaded.ts";
import { passwordNow, signInAddress, useFields } from "../ui/inputs.tsx";
import { Button, ErrorText, Form } from "../ui/parts.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { AcceptInvitation } from "./invitation.tsx";

export interface Signed {
  /** Null for a session. */
  key: string | null;
  scopes: string[];
}

type Credentials = { personal_api_key: string } | { email: string; password: string };

const invalidKey = "This personal API key is not valid. It may be mistyped, expired or revoked.";
const sessionOver = "Your session is over. Sign in again.";
const notEnded = "The server did not end the session: reload this page, and sign out again.";

/** @throws an Error in words when the key, or the session, is not valid. */
async function signedBy(key: string | null): Promise<Signed> {
  const reply = await sendRequest("/api/personal_api_keys/@current/", toCredentials(key));
  if (reply.status === 401) throw new Error(key === null ? sessionOver : invalidKey);
  if (!reply.ok) throw await readRefusal(reply);
  const { scopes } = (await reply.json()) as { scopes: string[] };
  return { key, scopes };
}

/** Begins a session; over plain HTTP, where browsers do not send the page's origin, a key signs in this tab alone. */
async function signedWith(credentials: Credentials): Promise<Signed> {
  if (!isSecureContext && "personal_api_key" in credentials)
    return await signedBy(credentials.personal_api_key);
  await sendSigning("/api/login/", credentials);
  return await signedBy(null);
}

/** The user of this browser or this tab; undefined when nobody is signed in. A link's code is used up. */
async function signedBefore(): Promise<Signed | undefined> {
  const code = readCode();
  if (code !== undefined) {
    const options = { method: "POST", headers: { authorization: `Bearer ${code}` } };
    return await signedWith(await readReply<{ personal_api_key: string }>("/console/sign_in", options));
  }
  const key = storedKey();
  return key === null && !isKnownSignedIn() ? undefined : await signedBy(key);
}

function forget(): void {
  storeKey(null);
  setKnownSignedIn(false);
}

export type SigningIn = ReturnType<typeof useSignIn>;

export function useSignIn() {
  const [signed, setSigned] = useState<Signed>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(true);
  const [invitation, setInvitation] = useState(readInvitation);
  const [isReturning, setReturning] = useState(() => hasCode() || storedKey() !== null || isKnownSignedIn());
  const signInWith = async (find: () => Promise<Signed | undefined>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const found = await find();
      storeKey(found?.key ?? null);
      if (found?.key === null) setKnownSignedIn(true);
      setSigned(found);
    } catch (thrown) {
      setError(thrown);
      if (thrown instanceof ServerUnreachable) return void setTimeout(() => void signInWith(find), retryMs);
      forget();
    }
    setReturning(false);
    setBusy(false);
  };
  useEffect(() => {
    if (invitation) setBusy(false);
    else void signInWith(signedBefore);
    return onSignedOutElsewhere(() => setSigned((now) => (now?.key === null ? undefined : now)));
  }, []);
  return {
    signed,
    error,
    busy,
    /** Whether somebody has signed in before; the session may have ended since. */
    isReturning: isReturning && !invitation,
    invitation,
    signIn: (credentials: Credentials) => void signInWith(() => signedWith(credentials)),
    /** An invitation was accepted, which made a session. */
    accepted: () => {
      setInvitation(undefined);
      void signInWith(() => signedBy(null));
    },
    /** @param isRefused whether the API refused the key or session, which the page then shows. */
    signOut: (isRefused: boolean) => {
      const leave = (problem?: Error) => {
        setSigned(undefined);
        setError(problem);
      };
      const end = (problem?: Error) => {
        forget();
        leave(problem);
      };
      if (isRefused) return end(new Error(signed?.key === null ? sessionOver : invalidKey));
      if (signed?.key !== null) return end();
      // The sign-in page appears when the session has ended.
      sendSigning("/api/logout/", {}).then(
        () => end(),
        () => leave(new Error(notEnded)),
      );
    },
  };
}

/** The frame of pages that need no sign-in. */
export function Entrance({ children }: { children: preact.ComponentChildren }) {
  return (
    <main class="sign-in">
      <header class="page-head">
        <img src="/console/assets/icon.svg" alt="" width="28" height="28" />
        <h1>Sluice</h1>
        <span class="fill" />
        <ThemeButton />
      </header>
      {children}
    </main>
  );
}

export function SignIn(signing: SigningIn) {
  const { error, isReturning, invitation, accepted } = signing;
  useEffect(() => {
    document.title = "Sign in · Sluice";
  }, []);
  const content = () => {
    if (invitation) return <AcceptInvitation invitation={invitation} accepted={accepted} />;
    if (!isReturning) return <SignInForms {...signing} />;
    return (
      <>
        <ErrorText error={error} />
        <p class="quiet">Loading …</p>
      </>
    );
  };
  return <Entrance>{content()}</Entrance>;
}

function SignInForms({ error, busy, signIn }: SigningIn) {
  const { fields, text } = useFields({ email: "", password: "", key: "" });
  const { email, password, key } = fields;
  const button = (label: string) => (
    <Button type="submit" kind="primary" disabled={busy}>
      {busy ? "Signing in …" : label}
    </Button>
  );
  return (
    <>
      <ErrorText error={error} />
      <Form send={() => signIn({ email, password })}>
        {text("email", "E-mail address", signInAddress)}
        {text("password", "Password", passwordNow)}
        {button("Sign in")}
      </Form>
      <h2>Or with a key</h2>
      <p class="quiet">Pages show what the scopes of the key allow.</p>
      <Form send={() => signIn({ personal_api_key: key.trim() })}>
        {text("key", "Personal API key", { type: "password", placeholder: "phx_…", required: true })}
        {button("Sign in with the key")}
      </Form>
      <p class="quiet">On the server, these commands make a password and a key:</p>
      <pre tabIndex={0} role="group" aria-label="Commands on the server">
        <code>
          bun run sluice user password --email YOU --keep-keys{"\n"}
          bun run sluice key issue --label me --scopes "*"
        </code>
      </pre>
      <p class="quiet">
        Writing a program? <a href="/docs">The API’s own page</a> shows every operation.
      </p>
    </>
  );
}

// Who is signed in, in this browser or this tab: beginning, continuing and ending a session.

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

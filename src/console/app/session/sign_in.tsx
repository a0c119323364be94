// Signing in: by the link of the first start, with the key of this tab, or with a key that somebody pastes.

import { useEffect, useState } from "preact/hooks";
import { Button, Form, TextField, Trouble } from "../ui/parts.tsx";
import { ThemeButton } from "../ui/theme_button.tsx";
import { Away, sendRequest, refusalOf } from "./api.ts";
import { takeCode } from "./route.ts";
import { storeKey, storedKey } from "./session.ts";
import { awayAgainMs } from "./use_loaded.ts";

/** The key that a link's code stands for. Its server forgets the code. */
export async function exchangeCode(code: string): Promise<string> {
  const reply = await sendRequest("/console/sign_in", {
    method: "POST",
    headers: { authorization: `Bearer ${code}` },
  });
  if (!reply.ok) throw await refusalOf(reply);
  return ((await reply.json()) as { personal_api_key: string }).personal_api_key;
}

export interface Signed {
  key: string;
  scopes: string[];
}

const invalidKey = "This personal API key is not valid. It may be mistyped, expired or revoked.";

/** @throws an Error in words when the key is not valid. */
async function signedBy(key: string): Promise<Signed> {
  const reply = await sendRequest("/api/personal_api_keys/@current/", {
    headers: { authorization: `Bearer ${key}` },
  });
  if (reply.status === 401) throw new Error(invalidKey);
  if (!reply.ok) throw await refusalOf(reply);
  const { scopes } = (await reply.json()) as { scopes: string[] };
  return { key, scopes };
}

export interface SigningIn {
  signed: Signed | undefined;
  error: unknown;
  busy: boolean;
  signIn(key: string): void;
  /** @param isRefused the API does not take the key any more; the reader is told. */
  signOut(isRefused: boolean): void;
}

export function useSignIn(): SigningIn {
  const [signed, setSigned] = useState<Signed>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(true);
  const take = async (find: () => Promise<string | null>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const key = await find();
      if (key !== null) {
        const found = await signedBy(key);
        storeKey(key);
        setSigned(found);
      }
    } catch (thrown) {
      setError(thrown);
      if (thrown instanceof Away) setTimeout(() => void take(find), awayAgainMs);
      else storeKey(null);
    }
    setBusy(false);
  };
  useEffect(() => {
    const code = takeCode();
    void take(async () => (code === undefined ? storedKey() : await exchangeCode(code)));
  }, []);
  return {
    signed,
    error,
    busy,
    signIn: (key) => void take(() => Promise.resolve(key.trim())),
    signOut: (isRefused) => {
      storeKey(null);
      setSigned(undefined);
      setError(isRefused ? new Error(invalidKey) : undefined);
    },
  };
}

export function SignIn({ error, busy, signIn }: SigningIn) {
  const [key, setKey] = useState("");
  useEffect(() => {
    document.title = "Sign in · Sluice";
  }, []);
  return (
    <main class="sign-in">
      <header class="page-head">
        <img src="/console/assets/icon.svg" alt="" width="28" height="28" />
        <h1>Sluice</h1>
        <span class="fill" />
        <ThemeButton />
      </header>
      <p>
        Sign in with a personal API key. It is kept for this tab only. Pages show what the scopes of the key
        allow.
      </p>
      <Trouble error={error} />
      <Form send={() => signIn(key)}>
        <TextField
          label="Personal API key"
          value={key}
          set={setKey}
          type="password"
          placeholder="phx_…"
          required
        />
        <Button type="submit" kind="primary" disabled={busy}>
          {busy ? "Signing in …" : "Sign in"}
        </Button>
      </Form>
      <p class="quiet">On the server, this makes a key:</p>
      <pre tabIndex={0} role="group" aria-label="The command that makes a key">
        <code>bun run sluice key issue --label me --scopes "*"</code>
      </pre>
      <p class="quiet">
        Writing a program? <a href="/docs">The API’s own page</a> shows every operation.
      </p>
    </main>
  );
}

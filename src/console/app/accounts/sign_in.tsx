// Signing in with a password or a key, by the link of the first start or of an invitation. The session covers all tabs;
// the address that was opened is shown afterwards.

import { useEffect } from "preact/hooks";
import { Form } from "../ui/forms.tsx";
import { passwordNow, signInAddress, useFields } from "../ui/inputs.tsx";
import { Button, ErrorText } from "../ui/parts.tsx";
import { ThemeButton } from "../ui/theme.tsx";
import { AcceptInvitation } from "./invitation.tsx";
import type { SigningIn } from "./signing.ts";

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

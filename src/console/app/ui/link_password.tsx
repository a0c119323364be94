// The password of a shared page, asked of whoever opens its link. The page alone keeps the pass that it gets for it.

import { useState } from "preact/hooks";
import { sendSigning, toMessage } from "../session/api.ts";
import { Form, TextField } from "./forms.tsx";
import { Button, ErrorText } from "./parts.tsx";

/** @param open is called with the header that shows that the password is known. */
export function LinkPassword({ base, open }: { base: string; open: (headers: object) => void }) {
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const send = () => {
    const asked = sendSigning<{ shareToken: string }>(base, { password });
    void asked.then(
      ({ shareToken }) => open({ authorization: `Bearer ${shareToken}` }),
      (thrown: unknown) => setProblem(toMessage(thrown)),
    );
  };
  return (
    <section class="card">
      <Form send={send}>
        <TextField
          label="Password of this link"
          type="password"
          value={password}
          set={setPassword}
          required
        />
        <Button type="submit">Open</Button>
      </Form>
      <ErrorText error={problem} />
    </section>
  );
}

// The made-up shop: a project of its own to look around in, made and removed as `sluice demo` does it.

import { useState } from "preact/hooks";
import { demoName, makeDemo } from "../../../demo/demo.ts";
import { nowMs } from "../clock.ts";
import { buildHref, navigate } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useAction } from "../session/use_loaded.ts";
import { ConfirmButton } from "../ui/forms.tsx";
import { Button, Card, Outcome } from "../ui/parts.tsx";

export function DemoShop() {
  const { api, project, projects, refresh } = useSession();
  const action = useAction();
  const [sent, setSent] = useState(0);
  const made = projects.find(({ name }) => name === demoName);
  const make = () =>
    action.run(async () => {
      await makeDemo(api.send, nowMs(), setSent);
      refresh();
      return "It is there. Its first figures take a second or two.";
    });
  const remove = () =>
    action.run(async () => {
      await api.send("DELETE", `/api/projects/${made!.id}/`);
      const next = projects.find(({ id }) => id !== made!.id);
      if (next && project.id === made!.id) navigate(buildHref(next.id, "start"));
      refresh();
      return "The made-up shop is gone.";
    });
  return (
    <Card title="Or look around first" wide>
      <p>
        A made-up shop in a project of its own: ninety days of visits and orders, a dashboard, a recording.
      </p>
      {made ? (
        <p>
          <a class="button plain" href={buildHref(made.id, "overview")}>
            Open the made-up shop
          </a>{" "}
          <ConfirmButton
            label="Remove the made-up shop"
            sure="Its project goes, with all that is in it."
            act={remove}
          />
        </p>
      ) : (
        <Button onClick={make} disabled={action.running}>
          {action.running ? `Sending … ${sent} events` : "Make a made-up shop"}
        </Button>
      )}
      <Outcome action={action} />
    </Card>
  );
}

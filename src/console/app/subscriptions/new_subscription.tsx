// A new subscription: what is sent, to whom, how often.

import { useState } from "preact/hooks";
import { fieldTime } from "../clock.ts";
import type { ListReply } from "../session/api.ts";
import { useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { ChoiceField, FormCard, TextField } from "../ui/parts.tsx";

interface Named {
  id: number;
  name: string | null;
  derived_name?: string | null;
}

const targets = [
  ["email", "E-mail"],
  ["slack", "Slack"],
  ["webhook", "Webhook"],
] as const;
const frequencies = ["daily", "weekly", "monthly", "yearly"].map((name) => [name, name] as const);

export function NewSubscription({ created }: { created: () => void }) {
  const { home } = useSession();
  const [what, setWhat] = useState("");
  const [target_type, setType] = useState("email");
  const [target_value, setValue] = useState("");
  const [frequency, setFrequency] = useState("daily");
  const [start, setStart] = useState(fieldTime(3_600_000));
  const [title, setTitle] = useState("");
  const action = useAction();
  const options = useSendable();
  const body = () => {
    const [kind = "insight", id] = what.split(" ");
    const start_date = new Date(start).toISOString();
    return { [kind]: Number(id), target_type, target_value, frequency, start_date, title };
  };
  const make = () =>
    action.send("POST", `${home}/subscriptions/`, body, "Created.", () => {
      created();
      // A second press creates no second one.
      setWhat("");
      setTitle("");
    });
  return (
    <FormCard title="New subscription" send={make} action={action} disabled={what === ""}>
      <ChoiceField label="What to send" value={what} set={setWhat} options={[["", "Choose"], ...options]} />
      <ChoiceField label="By" value={target_type} set={setType} options={targets} />
      <TextField label="To" value={target_value} set={setValue} required placeholder="me@example.com" />
      <ChoiceField label="How often" value={frequency} set={setFrequency} options={frequencies} />
      <TextField label="First at" type="datetime-local" value={start} set={setStart} required />
      <TextField label="Title" value={title} set={setTitle} />
    </FormCard>
  );
}

/** The insights and dashboards that the key may read. */
function useSendable(): [string, string][] {
  const { api, home } = useSession();
  const loaded = useLoaded(
    async (signal) => {
      const list = async (kind: string): Promise<[string, string][]> => {
        const { results } = await api.get<ListReply<Named>>(`${home}/${kind}s/`, { limit: 200 }, signal);
        const shown = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
        return results.map(({ id, name, derived_name }) => [
          `${kind} ${id}`,
          `${shown}: ${name || derived_name || id}`,
        ]);
      };
      const lists = await Promise.allSettled([list("insight"), list("dashboard")]);
      return lists.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    },
    [home],
  );
  return loaded.value ?? [];
}

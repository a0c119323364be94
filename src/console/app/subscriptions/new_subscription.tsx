// A new subscription: what is sent, to whom, how often.

import { fieldTime } from "../clock.ts";
import type { ListReply } from "../session/api.ts";
import { useAction, useRead } from "../session/use_loaded.ts";
import { capitalized } from "../ui/format.ts";
import { useFields } from "../ui/inputs.tsx";
import { FormCard } from "../ui/parts.tsx";

const targets = [
  ["email", "E-mail"],
  ["slack", "Slack"],
  ["webhook", "Webhook"],
] as const;
const frequencies = ["daily", "weekly", "monthly", "yearly"].map((name) => [name, name] as const);

export function NewSubscription({ created }: { created: () => void }) {
  const { fields, change, text, choice } = useFields({
    what: "",
    target_type: "email",
    target_value: "",
    frequency: "daily",
    start: fieldTime(3_600_000),
    title: "",
  });
  const { what, start, ...others } = fields;
  const action = useAction();
  const options = useSendable();
  const body = () => {
    const [kind = "insight", id] = what.split(" ");
    return { [kind]: Number(id), ...others, start_date: new Date(start).toISOString() };
  };
  const make = () =>
    action.send("POST", "subscriptions/", body, "Created.", () => {
      created();
      // A second press creates no second one.
      change({ what: "", title: "" });
    });
  return (
    <FormCard title="New subscription" send={make} action={action} disabled={what === ""}>
      {choice("what", "What to send", [["", "Choose"], ...options])}
      {choice("target_type", "By", targets)}
      {text("target_value", "To", { required: true, placeholder: "me@example.com" })}
      {choice("frequency", "How often", frequencies)}
      {text("start", "First at", { type: "datetime-local", required: true })}
      {text("title", "Title")}
    </FormCard>
  );
}

/** The insights and dashboards that the key may read. */
function useSendable(): [string, string][] {
  const loaded = useRead(async (api, signal) => {
    const list = async (kind: string): Promise<[string, string][]> => {
      const { results } = await api.get<
        ListReply<{ id: number; name: string | null; derived_name?: string | null }>
      >(`${kind}s/`, { limit: 200 }, signal);
      return results.map(({ id, name, derived_name }) => [
        `${kind} ${id}`,
        `${capitalized(kind)}: ${name || derived_name || id}`,
      ]);
    };
    const lists = await Promise.allSettled([list("insight"), list("dashboard")]);
    return lists.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  }, []);
  return loaded.value ?? [];
}

// Subscriptions: insights and dashboards that are sent on a schedule, with their deliveries.

import { fieldTime } from "../clock.ts";
import type { ListReply } from "../session/api.ts";
import type { Route } from "../session/route.ts";
import { useAllowed } from "../session/session.ts";
import { type Action, useAction, usePolling, useRead } from "../session/use_loaded.ts";
import { capitalized, timeText } from "../ui/format.ts";
import { ConfirmButton, FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { Button, Card, NoSuch, Outcome, PageHead, PageLink, PageWhenLoaded, Status } from "../ui/parts.tsx";
import { Facts, Table } from "../ui/table.tsx";

interface SubscriptionRow {
  id: number;
  title: string | null;
  summary: string;
  insight: number | null;
  dashboard: number | null;
  target_type: string;
  target_value: string;
  next_delivery_date: string | null;
  deleted: boolean;
  enabled: boolean;
}

export function Subscriptions({ route }: { route: Route }) {
  const [text] = route.more;
  if (text === undefined) return <SubscriptionList />;
  const id = Number(text);
  if (!(id > 0)) return <NoSuch title="Subscriptions" what="subscription" name={text} />;
  return <OneSubscription key={id} id={id} />;
}

function titleSubscription({ title, id }: SubscriptionRow): string {
  return title || `Subscription ${id}`;
}

function nameState({ deleted, enabled }: SubscriptionRow): string {
  return deleted ? "deleted" : enabled ? "running" : "paused";
}

function nextText(row: SubscriptionRow): string {
  return (nameState(row) === "running" && timeText(row.next_delivery_date)) || "none";
}

/** The link to the insight or dashboard that it sends, by name where it is listed. */
function Sent({ row, names }: { row: SubscriptionRow; names: ReadonlyMap<string, string> }) {
  const kind = row.insight === null ? "dashboard" : "insight";
  const id = row.insight ?? row.dashboard ?? 0;
  const name = names.get(`${kind} ${id}`) ?? `${capitalized(kind)} ${id}`;
  return <PageLink to={[`${kind}s`, [id]]}>{name}</PageLink>;
}

function SubscriptionList() {
  const loaded = useRead(async (api, signal) => {
    const read = (deleted: boolean) =>
      api.get<ListReply<SubscriptionRow>>("subscriptions/", { limit: 200, deleted }, signal);
    // Deleted ones are shown, so that they can be resumed.
    const [kept, deleted] = await Promise.all([read(false), read(true)]);
    return { ...kept, count: kept.count + deleted.count, results: [...kept.results, ...deleted.results] };
  }, []);
  const mayWrite = useAllowed("subscription:write");
  const options = useSendable();
  const names = new Map(options);
  return (
    <ListPage
      title="Subscriptions"
      loaded={loaded}
      empty="No subscriptions yet. One sends an insight or a dashboard on a schedule."
      columns={({ column, fixedColumn }) => [
        column("Title", (row) => (
          <PageLink to={["subscriptions", [row.id]]}>{titleSubscription(row)}</PageLink>
        )),
        column("What", (row) => <Sent row={row} names={names} />),
        column("When", (row) => row.summary),
        column("To", (row) => `${row.target_type}: ${row.target_value}`),
        column("State", (row) => <Status text={nameState(row)} />),
        fixedColumn("Next", nextText),
      ]}
    >
      {mayWrite && <NewSubscription created={loaded.reload} options={options} />}
    </ListPage>
  );
}

interface DeliveryRow {
  status: string;
  error: string | null;
  due_at: string;
  delivered_at: string | null;
  test: boolean;
  attempts: number;
}

function OneSubscription({ id }: { id: number }) {
  const path = `subscriptions/${id}`;
  const loaded = useRead(
    async (api, signal) => {
      const [row, deliveries] = await Promise.all([
        api.get<SubscriptionRow>(`${path}/`, {}, signal),
        api.get<ListReply<DeliveryRow>>(`${path}/deliveries/`, { limit: 50 }, signal),
      ]);
      return { row, deliveries: deliveries.results };
    },
    [path],
  );
  const names = new Map(useSendable());
  usePolling(loaded.value?.deliveries.some(isOpen) ?? false, loaded.value, loaded.reload);
  return (
    <PageWhenLoaded loaded={loaded} title="Subscription">
      {({ row, deliveries }) => (
        <>
          <PageHead title={titleSubscription(row)}>
            <Status text={nameState(row)} />
          </PageHead>
          <Actions path={path} row={row} changed={loaded.reload} />
          <Card>
            <Facts
              of={[
                ["What", <Sent row={row} names={names} />],
                ["When", row.summary],
                ["To", `${row.target_type}: ${row.target_value}`],
                ["Next", nextText(row)],
              ]}
            />
          </Card>
          <Card title="Deliveries">
            <Table
              caption="Deliveries, newest first"
              rows={deliveries}
              empty="No deliveries yet."
              columns={({ column, numberColumn, fixedColumn }) => [
                column("State", (row) => <Status text={row.status} />),
                column("Due", (row) => `${timeText(row.due_at)}${row.test ? " (by hand)" : ""}`),
                fixedColumn("Delivered", (row) => timeText(row.delivered_at)),
                numberColumn("Attempts", (row) => row.attempts),
                column("Error", (row) => row.error ?? ""),
              ]}
            />
          </Card>
        </>
      )}
    </PageWhenLoaded>
  );
}

/** Whether a delivery has not ended. */
function isOpen({ status }: DeliveryRow): boolean {
  return ["pending", "retrying"].includes(status);
}

function Actions({ path, row, changed }: { path: string; row: SubscriptionRow; changed(): void }) {
  const mayWrite = useAllowed("subscription:write");
  const action = useAction();
  if (!mayWrite) return null;
  const deliver = () => action.send("POST", `${path}/test_delivery/`, {}, "A delivery has begun.", changed);
  const change = (fields: object, done: string) => action.send("PATCH", `${path}/`, fields, done, changed);
  const resume = () => change({ deleted: false, enabled: true }, "The subscription is running again.");
  const pause = () => change({ enabled: false }, "The subscription is paused.");
  const remove = () => change({ deleted: true }, "The subscription is deleted.");
  return (
    <>
      <p class="page-actions">
        <Button disabled={action.running} onClick={deliver}>
          Deliver now
        </Button>
        <Button onClick={changed}>Refresh</Button>
        {nameState(row) === "running" ? (
          <ConfirmButton key="pause" label="Pause" sure="Deliver nothing until it is resumed?" act={pause} />
        ) : (
          <Button onClick={resume}>Resume</Button>
        )}
        {!row.deleted && (
          <ConfirmButton key="delete" label="Delete" sure="Delete this subscription?" act={remove} />
        )}
      </p>
      <Outcome action={action} />
    </>
  );
}

const targets = [
  ["email", "E-mail"],
  ["slack", "Slack"],
  ["webhook", "Webhook"],
] as const;
const frequencies = ["daily", "weekly", "monthly", "yearly"].map((name) => [name, name] as const);

function NewSubscription({ created, options }: { created: () => void; options: [string, string][] }) {
  const { fields, change, text, choice } = useFields({
    what: "",
    target_type: "email",
    target_value: "",
    frequency: "daily",
    start: fieldTime(3_600_000),
    title: "",
  });
  const { what, start, ...others } = fields;
  const body = () => {
    const [kind = "insight", id] = what.split(" ");
    return { [kind]: Number(id), ...others, start_date: new Date(start).toISOString() };
  };
  const done = () => {
    created();
    // A second press creates no second one.
    change({ what: "", title: "" });
  };
  const make = (send: Action["send"]) => send("POST", "subscriptions/", body, "Created.", done);
  return (
    <FormCard title="New subscription" send={make} disabled={what === ""}>
      {choice("what", "What to send", [["", "Choose"], ...options])}
      {choice("target_type", "By", targets)}
      {text("target_value", "To", { required: true, placeholder: "me@example.com" })}
      {choice("frequency", "How often", frequencies)}
      {text("start", "First at", { type: "datetime-local", required: true })}
      {text("title", "Title")}
    </FormCard>
  );
}

/** The insights and dashboards that the key may read, or those of one kind. */
export function useSendable(...only: string[]): [string, string][] {
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
    const kinds = only.length > 0 ? only : ["insight", "dashboard"];
    const lists = await Promise.allSettled(kinds.map(list));
    return lists.flatMap((item) => (item.status === "fulfilled" ? item.value : []));
  }, []);
  return loaded.value ?? [];
}

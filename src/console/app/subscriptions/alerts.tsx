// Alerts: figures of insights that are judged on an interval, each with the history of its checks.

import type { ListReply } from "../session/api.ts";
import type { Route } from "../session/route.ts";
import { useAllowed } from "../session/session.ts";
import { type Action, useAction, useGet } from "../session/use_loaded.ts";
import { numberText, timeText } from "../ui/format.ts";
import { FormCard, RemoveButton } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { Button, Card, Outcome, PageHead, PageLink, PageWhenLoaded, Status } from "../ui/parts.tsx";
import { Facts, Table } from "../ui/table.tsx";
import { useSendable } from "./subscriptions.tsx";

interface CheckRow {
  id: string;
  created_at: string;
  calculated_value: number | null;
  value: number | null;
  previous_value: number | null;
  state: string;
  delivery_status: string | null;
  error: string | null;
}

interface AlertRow {
  id: string;
  name: string;
  insight: { id: number; name: string | null; derived_name: string | null };
  subscribed_users: { email: string }[];
  target_type: string | null;
  threshold: { configuration: { type: string; bounds?: { lower?: number | null; upper?: number | null } } };
  condition: { type?: string };
  state: string;
  enabled: boolean;
  calculation_interval: string;
  last_checked_at: string | null;
  next_check_at: string | null;
  snoozed_until: string | null;
  checks?: CheckRow[];
}

export function Alerts({ route }: { route: Route }) {
  const [id] = route.more;
  return id === undefined ? (
    <AlertList insight={route.query.get("insight") ?? ""} />
  ) : (
    <OneAlert key={id} id={id} />
  );
}

const nameInsight = ({ insight }: AlertRow) =>
  insight.name || insight.derived_name || `Insight ${insight.id}`;
const nameAlert = (row: AlertRow) => row.name || nameInsight(row);
const nameState = ({ enabled, state }: AlertRow) => (enabled ? state : "paused");

/** The rule in words: `below 50`, `fell by more than 20%`. */
export function ruleText({ condition, threshold }: Pick<AlertRow, "condition" | "threshold">): string {
  const { type, bounds = {} } = threshold.configuration;
  const show = (value: number) => (type === "percentage" ? `${numberText(value * 100)}%` : numberText(value));
  const verb = { relative_increase: "rose by", relative_decrease: "fell by" }[condition.type ?? ""];
  const [low, high] = verb ? [`${verb} less than`, `${verb} more than`] : ["below", "above"];
  const { lower = null, upper = null } = bounds;
  const texts = [lower !== null && `${low} ${show(lower)}`, upper !== null && `${high} ${show(upper)}`];
  return texts.filter(Boolean).join(" or ") || "never";
}

function AlertList({ insight }: { insight: string }) {
  const loaded = useGet<ListReply<AlertRow>>("alerts/", { limit: 200, ...(insight && { insight }) });
  const mayWrite = useAllowed("alert:write");
  return (
    <ListPage
      title="Alerts"
      loaded={loaded}
      empty="No alerts yet. One tells when a figure of an insight crosses a threshold."
      columns={({ column, fixedColumn }) => [
        column("Name", (row) => <PageLink to={["alerts", [row.id]]}>{nameAlert(row)}</PageLink>),
        column("Insight", (row) => (
          <PageLink to={["insights", [row.insight.id]]}>{nameInsight(row)}</PageLink>
        )),
        column("When", ruleText),
        column("Checked", (row) => row.calculation_interval),
        column("State", (row) => <Status text={nameState(row)} />),
        fixedColumn("Last check", (row) => timeText(row.last_checked_at)),
      ]}
    >
      {mayWrite && <NewAlert insight={insight} created={loaded.reload} />}
    </ListPage>
  );
}

function OneAlert({ id }: { id: string }) {
  const path = `alerts/${encodeURIComponent(id)}/`;
  const loaded = useGet<AlertRow>(path);
  const mayWrite = useAllowed("alert:write");
  const action = useAction();
  const renderChange = (label: string, fields: object, done: string) =>
    mayWrite && (
      <Button onClick={() => action.send("PATCH", path, fields, done, loaded.reload)}>{label}</Button>
    );
  return (
    <PageWhenLoaded loaded={loaded} title="Alert">
      {(row) => (
        <>
          <PageHead title={nameAlert(row)}>
            <Status text={nameState(row)} />
            {row.enabled
              ? renderChange("Pause", { enabled: false }, "The alert is paused.")
              : renderChange("Resume", { enabled: true }, "The alert is checked again.")}
            {row.snoozed_until === null
              ? renderChange("Snooze a day", { snoozed_until: "1d" }, "Snoozed for a day.")
              : renderChange("End the snooze", { snoozed_until: null }, "The snooze is over.")}
            <RemoveButton path={path} sure="Delete this alert?" action={action} back="alerts" />
          </PageHead>
          <Outcome action={action} />
          <Card>
            <Facts
              of={[
                ["Insight", <PageLink to={["insights", [row.insight.id]]}>{nameInsight(row)}</PageLink>],
                ["When", ruleText(row)],
                ["Checked", row.calculation_interval],
                [
                  "To",
                  [...row.subscribed_users.map(({ email }) => email), row.target_type]
                    .filter(Boolean)
                    .join(", "),
                ],
                [
                  "Next check",
                  (row.enabled && timeText(row.next_check_at)) || (row.enabled ? "now" : "none"),
                ],
                ...(row.snoozed_until ? [["Snoozed until", timeText(row.snoozed_until)] as const] : []),
              ]}
            />
          </Card>
          <Card title="Checks">
            <Table
              caption="Checks, newest first"
              rows={row.checks ?? []}
              empty="Not checked yet."
              columns={({ column, numberColumn, fixedColumn }) => [
                fixedColumn("When", (check) => timeText(check.created_at)),
                column("State", (check) => <Status text={check.state} />),
                numberColumn("Figure", ({ value }) => value !== null && numberText(value)),
                numberColumn("Before", ({ previous_value: value }) => value !== null && numberText(value)),
                column("Told", (check) => check.delivery_status && <Status text={check.delivery_status} />),
                column("Error", (check) => check.error ?? ""),
              ]}
            />
          </Card>
        </>
      )}
    </PageWhenLoaded>
  );
}

const rules = [
  ["absolute_value lower", "is below"],
  ["absolute_value upper", "is above"],
  ["relative_decrease upper", "fell by more than"],
  ["relative_increase upper", "rose by more than"],
] as const;
const units = [
  ["absolute", "as a number"],
  ["percentage", "per cent"],
] as const;
const intervals = ["hourly", "daily", "weekly", "monthly"].map((name) => [name, name] as const);
const targets = [
  ["me", "E-mail to me"],
  ["slack", "Slack"],
  ["webhook", "Webhook"],
] as const;

function NewAlert({ insight, created }: { insight: string; created: () => void }) {
  const { fields, change, text, choice } = useFields({
    insight,
    rule: rules[0][0] as string,
    amount: "",
    unit: "absolute",
    calculation_interval: "daily",
    series_index: "1",
    by: "me",
    target_value: "",
    name: "",
  });
  const insights = useSendable("insight").map(([value, title]) => [value.split(" ")[1]!, title] as const);
  const me = useGet<{ id: number }>("/api/users/@me/");
  const [type, side] = fields.rule.split(" ") as [string, string];
  const isChange = type !== "absolute_value";
  const isShare = isChange && fields.unit === "percentage";
  const body = () => ({
    insight: Number(fields.insight),
    name: fields.name,
    condition: { type },
    threshold: {
      configuration: {
        type: isShare ? "percentage" : "absolute",
        bounds: { [side]: Number(fields.amount) / (isShare ? 100 : 1) },
      },
    },
    config: { type: "TrendsAlertConfig", series_index: Number(fields.series_index) - 1 },
    calculation_interval: fields.calculation_interval,
    ...(fields.by === "me"
      ? { subscribed_users: [me.value?.id] }
      : { target_type: fields.by, target_value: fields.target_value }),
  });
  const done = () => {
    created();
    // A second press creates no second one.
    change({ amount: "", name: "" });
  };
  const make = (send: Action["send"]) => send("POST", "alerts/", body, "Created.", done);
  const isReady = fields.insight !== "" && (fields.by !== "me" || me.value !== undefined);
  return (
    <FormCard title="New alert" send={make} disabled={!isReady}>
      {choice("insight", "Insight", [["", "Choose"], ...insights])}
      {text("series_index", "Series or column", { type: "number", required: true })}
      {choice("rule", "Tell when it", rules)}
      {text("amount", "Amount", { type: "number", required: true })}
      {isChange && choice("unit", "Counted", units)}
      {choice("calculation_interval", "Checked", intervals)}
      {choice("by", "By", targets)}
      {fields.by !== "me" && text("target_value", "To", { required: true, placeholder: "https://…" })}
      {text("name", "Name")}
    </FormCard>
  );
}

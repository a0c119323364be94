// Batch exports: listed, and one with its runs, backfills and log.

import type { Route } from "../session/route.ts";
import { useAllowed, useOpen } from "../session/session.ts";
import { useList } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { PageLink, Status } from "../ui/parts.tsx";
import { type ExportRow, OneExport, type RunRow } from "./one_export.tsx";
import { destinations, SettingFields, type Settings, toDestination } from "./settings.tsx";

export function Exports({ route }: { route: Route }) {
  const [id] = route.more;
  return id ? <OneExport key={id} id={id} /> : <ExportList />;
}

function ExportList() {
  const list = useList<ExportRow>("batch_exports/", 200);
  const mayWrite = useAllowed("batch_export:write");
  return (
    <ListPage
      title="Exports"
      {...list}
      empty="No exports yet. An export copies events or persons elsewhere, interval by interval."
      columns={({ column }) => [
        column("Name", (row) => <PageLink to={["exports", [row.id]]}>{row.name}</PageLink>),
        column("To", (row) => row.destination.type),
        column("Every", (row) => row.interval),
        column("State", (row) => <Status text={row.paused ? "paused" : "running"} />),
        column("Last run", (row) => renderRun(row.latest_runs[0])),
      ]}
    >
      {mayWrite && <NewExport />}
    </ListPage>
  );
}

function renderRun(run: RunRow | undefined) {
  if (!run) return <span class="quiet">none</span>;
  return (
    <>
      <Status text={run.status} /> {agoText(run.finished_at ?? run.created_at)}
      {run.latest_error && <div class="quiet">{run.latest_error}</div>}
    </>
  );
}

const types = Object.keys(destinations).map((name) => [name, name] as const);
const intervals = ["hour", "day", "week", "every 5 minutes"].map((name) => [name, name] as const);
const models = ["events", "persons"].map((name) => [name, name] as const);

function NewExport() {
  const open = useOpen("exports");
  const { fields, change, text, choice } = useFields({
    name: "",
    model: "events",
    interval: "hour",
    type: "S3",
    settings: {} as Settings,
  });
  const { type, settings, ...more } = fields;
  const body = () => ({ ...more, destination: toDestination(type, settings) });
  return (
    <FormCard title="New export" send={(send) => send("POST", "batch_exports/", body, "Created.", open)}>
      {text("name", "Name of the export", { required: true })}
      {choice("model", "What to export", models)}
      {choice("type", "Destination", types)}
      {choice("interval", "Every", intervals)}
      <fieldset class="whole plain">
        <legend>Settings of the destination</legend>
        <div class="form">
          <SettingFields
            key={type}
            type={type}
            settings={settings}
            set={(next) => change({ settings: next })}
          />
        </div>
      </fieldset>
    </FormCard>
  );
}

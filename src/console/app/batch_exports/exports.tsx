// Batch exports: listed, and one with its runs, backfills and log.

import type { Route } from "../session/route.ts";
import { useAllowed, useOpen } from "../session/session.ts";
import { useList } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { ChoiceField, Field, FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { ListPage } from "../ui/list_page.tsx";
import { PageLink, Status } from "../ui/parts.tsx";
import { type ExportRow, OneExport, type RunRow } from "./one_export.tsx";

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

const destinations = ["S3", "AzureBlob", "Postgres", "HTTP", "File"].map((name) => [name, name] as const);
const intervals = ["hour", "day", "week", "every 5 minutes"].map((name) => [name, name] as const);
const models = ["events", "persons"].map((name) => [name, name] as const);
/** The settings of a new export, by destination. */
const examples: Readonly<Record<string, object>> = {
  S3: {
    bucket_name: "",
    region: "us-east-1",
    prefix: "",
    aws_access_key_id: "",
    aws_secret_access_key: "",
    file_format: "Parquet",
  },
  AzureBlob: { account_name: "", account_key: "", container_name: "", prefix: "", file_format: "Parquet" },
  Postgres: {
    host: "",
    port: 5432,
    user: "",
    password: "",
    database: "",
    schema: "public",
    table_name: "events",
  },
  HTTP: { url: "", token: "" },
  File: { path: "", prefix: "", file_format: "Parquet" },
};

function writeExample(type: string): string {
  return JSON.stringify(examples[type] ?? {}, null, 2);
}

/** @throws an Error with the problem of the text. */
function settingsIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error("The settings are not valid JSON. Put names and texts in double quotes.");
  }
}

function NewExport() {
  const open = useOpen("exports");
  const { fields, change, text, choice } = useFields({
    name: "",
    model: "events",
    interval: "hour",
    type: "S3",
    config: writeExample("S3"),
  });
  const { type, config, ...more } = fields;
  // Edited settings stay.
  const choose = (chosen: string) =>
    change({ type: chosen, config: config === writeExample(type) ? writeExample(chosen) : config });
  const body = () => ({ ...more, destination: { type, config: settingsIn(config) } });
  return (
    <FormCard title="New export" send={(send) => send("POST", "batch_exports/", body, "Created.", open)}>
      {text("name", "Name of the export", { required: true })}
      {choice("model", "What to export", models)}
      <ChoiceField label="Destination" value={type} set={choose} options={destinations} />
      {choice("interval", "Every", intervals)}
      <Field label="Settings of the destination, as JSON">
        {(id) => (
          <textarea
            id={id}
            value={config}
            onInput={(event) => change({ config: event.currentTarget.value })}
          />
        )}
      </Field>
    </FormCard>
  );
}

// Batch exports: listed, and one with its runs, backfills and log.

import { useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { type Route, go, hrefOf } from "../session/route.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useAction, useLoaded } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import {
  Button,
  Card,
  ChoiceField,
  Field,
  Form,
  Outcome,
  PageHead,
  Shown,
  Status,
  TextField,
} from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { OneExport } from "./one_export.tsx";
import type { ExportRow, RunRow } from "./rows.ts";

export function Exports({ route }: { route: Route }) {
  const [id] = route.more;
  return id ? <OneExport key={id} id={id} /> : <ExportList />;
}

function ExportList() {
  const { api, home, project } = useSession();
  const asked = useLoaded(
    (signal) => api.get<ListReply<ExportRow>>(`${home}/batch_exports/`, { limit: 200 }, signal),
    [home],
  );
  const mayWrite = useAllowed("batch_export:write");
  return (
    <>
      <PageHead title="Exports" />
      <Card>
        <Shown asked={asked}>
          {({ results }) => (
            <Table
              caption="Batch exports"
              rows={results}
              id={(row) => row.id}
              empty="None yet: an export copies events or persons elsewhere, interval by interval."
              columns={[
                {
                  name: "Name",
                  cell: (row) => <a href={hrefOf(project.id, "exports", [row.id])}>{row.name}</a>,
                },
                { name: "To", cell: (row) => row.destination.type },
                { name: "Every", cell: (row) => row.interval },
                { name: "State", cell: (row) => <Status text={row.paused ? "paused" : "running"} /> },
                { name: "Last run", cell: (row) => <LastRun run={row.latest_runs[0]} /> },
              ]}
            />
          )}
        </Shown>
      </Card>
      {mayWrite && <NewExport />}
    </>
  );
}

function LastRun({ run }: { run: RunRow | undefined }) {
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
const exampleConfig =
  '{\n  "bucket_name": "",\n  "region": "",\n  "prefix": "",\n  "file_format": "Parquet"\n}';

function NewExport() {
  const { api, home, project } = useSession();
  const [name, setName] = useState("");
  const [model, setModel] = useState("events");
  const [type, setType] = useState("S3");
  const [interval, setEvery] = useState("hour");
  const [config, setConfig] = useState(exampleConfig);
  const action = useAction();
  const make = () =>
    action.run(async () => {
      const destination = { type, config: JSON.parse(config) as unknown };
      const body = { name, model, interval, destination };
      const { id } = await api.send<ExportRow>("POST", `${home}/batch_exports/`, body);
      go(hrefOf(project.id, "exports", [id]));
      return "Made.";
    });
  return (
    <Card title="A new export">
      <Form send={make}>
        <TextField label="Name of the export" value={name} set={setName} required />
        <ChoiceField label="What" value={model} set={setModel} options={models} />
        <ChoiceField label="Destination" value={type} set={setType} options={destinations} />
        <ChoiceField label="Every" value={interval} set={setEvery} options={intervals} />
        <Field label="Its settings, as JSON">
          {(id) => (
            <textarea id={id} value={config} onInput={(event) => setConfig(event.currentTarget.value)} />
          )}
        </Field>
        <Button type="submit" disabled={action.running}>
          Make it
        </Button>
      </Form>
      <Outcome action={action} />
    </Card>
  );
}

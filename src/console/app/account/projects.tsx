// Projects: created, named, their key rolled.

import { useState } from "preact/hooks";
import { hrefOf } from "../session/route.ts";
import { type ProjectRow, useAllowed, useSession } from "../session/session.ts";
import { useAction } from "../session/use_loaded.ts";
import { Copied } from "../ui/copied.tsx";
import {
  Button,
  Card,
  CheckField,
  Form,
  FormCard,
  Outcome,
  PageHead,
  SureButton,
  TextField,
} from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

export function Projects() {
  const { project, projects } = useSession();
  const mayWrite = useAllowed("project:write");
  return (
    <>
      <PageHead title="Projects" />
      <Card>
        <Table
          caption="Projects"
          rows={projects}
          id={(row) => row.id}
          columns={[
            { name: "Name", cell: (row) => <a href={hrefOf(row.id, "projects")}>{row.name}</a> },
            { name: "Id", cell: (row) => row.id, number: true },
            { name: "Key", cell: (row) => <code>{row.api_token}</code> },
            { name: "Time zone", cell: (row) => row.timezone },
          ]}
        />
      </Card>
      {mayWrite && <ChosenProject key={project.id} project={project} />}
      {mayWrite && <NewProject />}
    </>
  );
}

function ChosenProject({ project }: { project: ProjectRow }) {
  const { refresh } = useSession();
  const [name, setName] = useState(project.name);
  const [timezone, setTimezone] = useState(project.timezone);
  const [records, setRecords] = useState(project.session_recording_opt_in);
  const action = useAction();
  const path = `/api/projects/${project.id}`;
  const changes = { name, timezone, session_recording_opt_in: records };
  const save = () => action.send("PATCH", `${path}/`, changes, "Saved.", refresh);
  const rolled = "The project has a new key. Events with the old one are refused.";
  const roll = () => action.send("PATCH", `${path}/reset_token/`, {}, rolled, refresh);
  return (
    <Card title={`Settings of ${project.name}`}>
      <Form send={save}>
        <TextField label="Name" value={name} set={setName} required />
        <TextField label="Time zone" value={timezone} set={setTimezone} required />
        <CheckField label="Record sessions" value={records} set={setRecords} />
        <Button type="submit" disabled={action.running}>
          Save
        </Button>
      </Form>
      <Copied text={project.api_token} label="the project’s key" />
      <p>
        <SureButton
          label="Roll its key"
          sure="Events sent with the old key are refused from then on."
          act={roll}
        />
      </p>
      <Outcome action={action} />
    </Card>
  );
}

function NewProject() {
  const { refresh } = useSession();
  const [name, setName] = useState("");
  const action = useAction();
  const make = () =>
    action.send("POST", "/api/projects/", { name }, `${name} is created. Choose it at the top.`, () => {
      refresh();
      setName("");
    });
  return (
    <FormCard title="New project" send={make} action={action}>
      <TextField label="Name of the project" value={name} set={setName} required />
    </FormCard>
  );
}

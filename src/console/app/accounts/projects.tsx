// Projects: created, named, their key rolled.

import { useId, useState } from "preact/hooks";
import { hrefOf } from "../session/route.ts";
import { type ProjectRow, useAllowed, useSession } from "../session/session.ts";
import { type Action, useAction } from "../session/use_loaded.ts";
import { Copied } from "../ui/copied.tsx";
import { partsOfText } from "../ui/format.ts";
import {
  Button,
  Card,
  CheckField,
  ConfirmButton,
  Form,
  FormCard,
  Outcome,
  PageHead,
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
  const [hosts, setHosts] = useState((project.session_recording_load_hosts ?? []).join(" "));
  const [days, setDays] = useState(String(project.event_retention_days ?? ""));
  const [quota, setQuota] = useState(String(project.daily_event_quota ?? ""));
  const [cookieless, setCookieless] = useState(project.cookieless_server_hash_mode > 0);
  const action = useAction();
  const changes = {
    name,
    timezone,
    session_recording_opt_in: records,
    session_recording_load_hosts: partsOfText(hosts),
    cookieless_server_hash_mode: cookieless ? 1 : 0,
    event_retention_days: days === "" ? null : Number(days),
    daily_event_quota: quota === "" ? null : Number(quota),
  };
  const expires = days !== "" && Number(days) !== project.event_retention_days;
  const save = () => action.send("PATCH", `/api/projects/${project.id}/`, changes, "Saved.", refresh);
  return (
    <Card title={`Settings of ${project.name}`}>
      <Form send={save}>
        <TextField label="Name" value={name} set={setName} required />
        <ZoneField value={timezone} set={setTimezone} />
        <TextField
          label="Days that events are kept"
          value={days}
          set={setDays}
          type="number"
          placeholder="as long as the server keeps them"
        />
        <CheckField label="Count visitors without a cookie" value={cookieless} set={setCookieless} />
        <CheckField label="Record sessions" value={records} set={setRecords} />
        <div class="whole">
          <TextField
            label="Events accepted a day"
            hint="Further events of the day (UTC) are ignored, and not sent again."
            value={quota}
            set={setQuota}
            type="number"
            placeholder="any number"
          />
          <TextField
            label="Hosts that recordings load images and styles from"
            hint="Names like cdn.example.com. They see when recordings are played, which anybody with the key may send."
            value={hosts}
            set={setHosts}
          />
        </div>
        {expires ? (
          <ConfirmButton
            label="Save"
            sure={`Events older than ${days} days are deleted permanently, within an hour.`}
            act={save}
          />
        ) : (
          <Button type="submit" disabled={action.running}>
            Save
          </Button>
        )}
      </Form>
      <ProjectKey project={project} action={action} />
      <Outcome action={action} />
    </Card>
  );
}

function ProjectKey({ project, action }: { project: ProjectRow; action: Action }) {
  const { refresh } = useSession();
  const path = `/api/projects/${project.id}/reset_token/`;
  const rolled = "The project has a new key. Events with the old one are refused.";
  return (
    <>
      <Copied text={project.api_token} label="the project’s key" />
      <p>
        <ConfirmButton
          label="Roll its key"
          sure="Events sent with the old key are refused from then on."
          act={() => action.send("PATCH", path, {}, rolled, refresh)}
        />
      </p>
    </>
  );
}

/** Offers the zones that the browser knows. */
function ZoneField({ value, set }: { value: string; set: (zone: string) => void }) {
  const zones = useId();
  return (
    <>
      <TextField label="Time zone" value={value} set={set} list={zones} required />
      <datalist id={zones}>
        {["UTC", ...Intl.supportedValuesOf("timeZone")].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
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

// Projects: created, named, their key rolled.

import { useId, useState } from "preact/hooks";
import { AddCondition, OwnFilters } from "../filters/condition_fields.tsx";
import { type Condition, noCondition, readConditions, toProperties } from "../filters/conditions.ts";
import { buildHref } from "../session/route.ts";
import { type ProjectRow, useAllowed, useSession } from "../session/session.ts";
import { type Action, useAction } from "../session/use_loaded.ts";
import { Copied } from "../ui/copying.tsx";
import { splitText } from "../ui/format.ts";
import { ConfirmButton, Form, FormCard, TextField } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Button, Card, Outcome, PageHead } from "../ui/parts.tsx";
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
          columns={({ column, numberColumn }) => [
            column("Name", (row) => <a href={buildHref(row.id, "projects")}>{row.name}</a>),
            numberColumn("Id", (row) => row.id),
            column("Key", (row) => <code>{row.api_token}</code>),
            column("Time zone", (row) => row.timezone),
          ]}
        />
      </Card>
      {mayWrite && <ChosenProject key={project.id} project={project} />}
      {mayWrite && <OwnVisits key={`own ${project.id}`} project={project} />}
      {mayWrite && <NewProject />}
    </>
  );
}

const weekDays = [
  ["0", "Sunday"],
  ["1", "Monday"],
] as const;

function ChosenProject({ project }: { project: ProjectRow }) {
  const { refresh } = useSession();
  const { fields, change, text, check, choice } = useFields({
    name: project.name,
    timezone: project.timezone,
    week_start_day: project.week_start_day ?? 0,
    session_recording_opt_in: project.session_recording_opt_in,
    capture_console_log_opt_in: project.capture_console_log_opt_in ?? false,
    hosts: (project.session_recording_load_hosts ?? []).join(" "),
    embedHosts: (project.sharing_embed_hosts ?? []).join(" "),
    days: String(project.event_retention_days ?? ""),
    quota: String(project.daily_event_quota ?? ""),
    cookieless: project.cookieless_server_hash_mode > 0,
  });
  const { hosts, embedHosts, days, quota, cookieless, ...others } = fields;
  const action = useAction();
  const changes = {
    ...others,
    session_recording_load_hosts: splitText(hosts),
    sharing_embed_hosts: splitText(embedHosts),
    cookieless_server_hash_mode: cookieless ? 1 : 0,
    event_retention_days: days === "" ? null : Number(days),
    daily_event_quota: quota === "" ? null : Number(quota),
  };
  const expires = days !== "" && Number(days) !== project.event_retention_days;
  const save = () => action.send("PATCH", `/api/projects/${project.id}/`, changes, "Saved.", refresh);
  return (
    <Card title={`Settings of ${project.name}`}>
      <Form send={save}>
        {text("name", "Name", { required: true })}
        <ZoneField value={fields.timezone} set={(timezone) => change({ timezone })} />
        {choice("week_start_day", "Weeks begin on", weekDays)}
        {text("days", "Days that events are kept", {
          type: "number",
          placeholder: "as long as the server keeps them",
        })}
        {check("cookieless", "Count visitors without a cookie")}
        {check("session_recording_opt_in", "Record sessions")}
        {check("capture_console_log_opt_in", "Record what pages write to the console")}
        <div class="whole">
          {text("quota", "Events accepted a day", {
            hint: "Further events of the day (UTC) are ignored, and not sent again.",
            type: "number",
            placeholder: "any number",
          })}
          {text("hosts", "Hosts that recordings load images and styles from", { hint: hostsHint })}
          {text("embedHosts", "Hosts whose pages may embed shared pages", { placeholder: "none" })}
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

/** Filters that leave out the project's own people, by their address or by the host that they work on. */
const ownExamples: readonly (readonly [button: string, condition: Condition])[] = [
  ["Without an e-mail ending", { ...noCondition, type: "person", key: "email", operator: "not_icontains" }],
  ["Without a host", { ...noCondition, key: "$host", operator: "not_icontains", values: ["localhost"] }],
];

function OwnVisits({ project }: { project: ProjectRow }) {
  const { refresh } = useSession();
  const saved = readConditions(project.test_account_filters);
  const [conditions, set] = useState<Condition[]>(saved ?? []);
  const save = (send: Action["send"]) => {
    const changes = { test_account_filters: toProperties(conditions) };
    return send("PATCH", `/api/projects/${project.id}/`, changes, "Saved.", refresh);
  };
  if (!saved)
    return (
      <Card title="Own visits">
        <p>The filters of own visits were set through the API, in a form that has no fields here.</p>
      </Card>
    );
  return (
    <FormCard title="Own visits" send={save} button="Set these filters">
      <p class="whole">
        “Without own visits” counts only events for which all of this holds. Nothing is deleted.
      </p>
      <OwnFilters conditions={conditions} set={set} />
      <div class="whole">
        <div class="form">
          {ownExamples.map(([button, condition]) => (
            <Button key={button} onClick={() => set([...conditions, condition])}>
              {button}
            </Button>
          ))}
          <AddCondition conditions={conditions} set={set} />
        </div>
      </div>
    </FormCard>
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

const hostsHint =
  "Names like cdn.example.com. They see when recordings are played, which anybody with the key may send.";

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
  const empty = { name: "" };
  const { fields, change, text } = useFields(empty);
  const done = `${fields.name} is created. Choose it at the top.`;
  const created = () => (refresh(), change(empty));
  return (
    <FormCard title="New project" send={(send) => send("POST", "/api/projects/", fields, done, created)}>
      {text("name", "Name of the project", { required: true })}
    </FormCard>
  );
}

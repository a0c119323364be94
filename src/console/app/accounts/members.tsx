// Who belongs to the organization of the project: levels, removals, invitations.

import { useState } from "preact/hooks";
import type { ListReply } from "../session/api.ts";
import { useSession } from "../session/session.ts";
import { type Action, useAction, useGet, useRead } from "../session/use_loaded.ts";
import { Copied } from "../ui/copying.tsx";
import { agoText } from "../ui/format.ts";
import { ConfirmButton, FormCard } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { LoadedTable } from "../ui/list_page.tsx";
import { Card, Outcome, PageHead, WhenLoaded } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

interface MemberRow {
  id: string;
  user: { uuid: string; email: string; first_name: string };
  level: number;
  joined_at: string;
  last_login: string | null;
}

interface InviteRow {
  id: string;
  target_email: string;
  level: number;
  created_by: { email: string };
  expires_at: string;
}

interface IssuedInvite {
  target_email: string;
  link: string;
}

const levels: readonly (readonly [number, string])[] = [
  [0, "reader"],
  [1, "member"],
  [8, "administrator"],
  [15, "owner"],
];

const administrator = 8;
const nameLevel = (level: number) => levels.find(([item]) => item === level)?.[1] ?? String(level);
const upTo = (most: number) =>
  levels.filter(([level]) => level <= most).map(([level, name]) => [String(level), name] as const);

export function Members() {
  const { project } = useSession();
  const path = `/api/organizations/${project.organization || "@current"}`;
  const loaded = useRead(
    async (api, signal) => {
      const list = { limit: 1000, order: "joined_at" };
      const [me, { results }] = await Promise.all([
        api.get<MemberRow>(`${path}/members/@me/`, {}, signal),
        api.get<ListReply<MemberRow>>(`${path}/members/`, list, signal),
      ]);
      return { me, rows: results };
    },
    [path],
  );
  const action = useAction();
  return (
    <>
      <PageHead title="Members" />
      <Outcome action={action} />
      <WhenLoaded loaded={loaded}>
        {({ me, rows }) => (
          <>
            <Card>
              <MemberTable {...{ rows, me, action }} path={`${path}/members`} changed={loaded.reload} />
            </Card>
            {me.level >= administrator && <Invitations path={`${path}/invites/`} level={me.level} />}
          </>
        )}
      </WhenLoaded>
    </>
  );
}

interface MemberTableProps {
  rows: MemberRow[];
  me: MemberRow;
  path: string;
  action: Action;
  changed: () => void;
}

function MemberTable({ rows, me, path, action, changed }: MemberTableProps) {
  const { signOut } = useSession();
  const mayChange = ({ id, level }: MemberRow) =>
    me.level >= administrator && id !== me.id && level <= me.level;
  const change = ({ user }: MemberRow, level: number) => {
    const done = `${user.email} is ${nameLevel(level)} now.`;
    action.send("PATCH", `${path}/${user.uuid}/`, { level }, done, changed);
  };
  const remove = ({ user }: MemberRow) =>
    action.send("DELETE", `${path}/${user.uuid}/`, undefined, `${user.email} is removed.`, changed);
  const leave = () => action.send("DELETE", `${path}/@me/`, undefined, "You have left.", signOut);
  return (
    <Table
      caption="Members"
      rows={rows}
      columns={({ column, fixedColumn }) => [
        column("Address", ({ user }) => user.email),
        column("Name", ({ user }) => user.first_name),
        column("Level", (row) =>
          mayChange(row) ? (
            <select
              aria-label={`Level of ${row.user.email}`}
              value={String(row.level)}
              onChange={(event) => change(row, Number(event.currentTarget.value))}
            >
              {upTo(me.level).map(([level, name]) => (
                <option key={level} value={level}>
                  {name}
                </option>
              ))}
            </select>
          ) : (
            nameLevel(row.level)
          ),
        ),
        fixedColumn("Joined", (row) => agoText(row.joined_at)),
        fixedColumn("Signed in", (row) => agoText(row.last_login)),
        column("What to do", (row) =>
          row.id === me.id ? (
            <ConfirmButton label="Leave" sure="You lose access to the organization." act={leave} />
          ) : (
            mayChange(row) && (
              <ConfirmButton
                label="Remove"
                sure="Their sessions and keys end at once, their subscriptions and exports stop."
                act={() => remove(row)}
              />
            )
          ),
        ),
      ]}
    />
  );
}

function Invitations({ path, level: most }: { path: string; level: number }) {
  const loaded = useGet<ListReply<InviteRow>>(path, { limit: 100 });
  const action = useAction();
  const { fields, change, text, choice } = useFields({ target_email: "", level: 1 });
  const [made, setMade] = useState<IssuedInvite>();
  const invited = (reply: IssuedInvite) => {
    setMade(reply);
    change({ target_email: "" });
    loaded.reload();
  };
  const revoke = ({ id, target_email }: InviteRow) => {
    const done = `The invitation of ${target_email} is revoked.`;
    action.send("DELETE", `${path}${id}/`, undefined, done, loaded.reload);
  };
  return (
    <>
      <FormCard
        title="Invite somebody"
        send={(send) => send("POST", path, fields, "Send the link yourself.", invited)}
        button="Make a link"
      >
        {text("target_email", "E-mail address", { type: "email", required: true })}
        {choice("level", "Level", upTo(most))}
      </FormCard>
      {made && (
        <div class="notice good issued" role="group" aria-label="The invitation’s link">
          <p>This link invites {made.target_email}. It is shown this once, works once, and for three days.</p>
          <Copied text={made.link} label="the link" />
        </div>
      )}
      <Card title="Open invitations">
        <Outcome action={action} />
        <LoadedTable
          loaded={loaded}
          caption="Open invitations"
          empty="None."
          columns={({ column, fixedColumn }) => [
            column("Address", (row) => row.target_email),
            column("Level", (row) => nameLevel(row.level)),
            column("By", (row) => row.created_by.email),
            fixedColumn("Until", (row) => new Date(row.expires_at).toLocaleString()),
            column("What to do", (row) => (
              <ConfirmButton label="Revoke" sure="Its link stops working." act={() => revoke(row)} />
            )),
          ]}
        />
      </Card>
    </>
  );
}

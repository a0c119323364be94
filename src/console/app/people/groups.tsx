// Groups: by type and key, with their properties.

import { useState } from "preact/hooks";
import type { Route } from "../session/route.ts";
import { useSession } from "../session/session.ts";
import { useGet, useList } from "../session/use_loaded.ts";
import { agoText } from "../ui/format.ts";
import { ListPage } from "../ui/list_page.tsx";
import { Button, ChoiceField, Form, TextField } from "../ui/parts.tsx";
import { Tree } from "../ui/tree.tsx";

interface GroupRow {
  group_type: string;
  group_key: string;
  properties: Record<string, unknown>;
  created_at: string;
}

export function Groups({ route }: { route: Route }) {
  const [type, key] = [route.query.get("type") ?? "", route.query.get("key") ?? ""];
  return <GroupList key={`${type} ${key}`} type={type} group={key} />;
}

function GroupList({ type: firstType, group }: { type: string; group: string }) {
  const { home } = useSession();
  const [type, setType] = useState(firstType);
  const [key, setKey] = useState(group);
  const list = useList<GroupRow>("groups/", 50, { group_type: firstType, group_key: group });
  const types = useGet<{ group_type: string }[]>(`${home}/groups_types/`);
  const names = types.value?.map(({ group_type }) => [group_type, group_type] as const) ?? [];
  return (
    <ListPage
      title="Groups"
      {...list}
      id={(row) => JSON.stringify([row.group_type, row.group_key])}
      empty="No groups. A $groupidentify event creates one."
      search={
        <Form send={() => list.show({ group_type: type, group_key: key.trim() })}>
          <ChoiceField label="Type" value={type} set={setType} options={[["", "All types"], ...names]} />
          <TextField label="Key" value={key} set={setKey} />
          <Button type="submit">Show</Button>
        </Form>
      }
      columns={[
        { name: "Type", cell: (row) => row.group_type },
        { name: "Key", cell: (row) => row.group_key },
        {
          name: "Properties",
          cell: (row) => <Tree name="properties" value={row.properties} open={0} />,
        },
        { name: "First seen", cell: (row) => agoText(row.created_at), number: true },
      ]}
    />
  );
}

// Groups: a list by type and key, and a page for each with its properties and what was done in it.

import type { GroupType } from "../filters/property_names.tsx";
import { EventList } from "../live/event_row.tsx";
import type { ShownEvent } from "../live/stream.ts";
import { Refusal } from "../session/api.ts";
import type { Route } from "../session/route.ts";
import { useSeesEvents } from "../session/session.ts";
import { useGet, useList, useRead } from "../session/use_loaded.ts";
import { timeText } from "../ui/format.ts";
import { Form } from "../ui/forms.tsx";
import { useDraft } from "../ui/inputs.tsx";
import { ListPage, Paged } from "../ui/list_page.tsx";
import { Button, Card, Cut, PageHead, PageLink, Time, WhenLoaded } from "../ui/parts.tsx";
import { Properties } from "../ui/tree.tsx";

interface GroupRow {
  group_type: string;
  group_key: string;
  properties: Record<string, unknown>;
  created_at: string;
}

export function Groups({ route }: { route: Route }) {
  const [type, key] = route.more;
  if (type === undefined || key === undefined) return <GroupList />;
  return <OneGroup key={`${type} ${key}`} type={type} group={key} />;
}

function GroupList() {
  const list = useList<GroupRow>("groups/", 50, {}, ["group_type", "group_key"]);
  const { fields, text, choice } = useDraft(list.filter);
  const types = useGet<GroupType[]>("groups_types/");
  const names = types.value?.map(({ group_type }) => [group_type, group_type] as const) ?? [];
  const [type, key] = [fields["group_type"] ?? "", fields["group_key"] ?? ""];
  return (
    <ListPage
      title="Groups"
      {...list}
      id={(row) => JSON.stringify([row.group_type, row.group_key])}
      empty="No groups. A $groupidentify event creates one."
      search={
        <Form send={() => list.show({ group_type: type, group_key: key.trim() })}>
          {choice("group_type", "Type", [["", "All types"], ...names])}
          {text("group_key", "Key")}
          <Button type="submit">Show</Button>
        </Form>
      }
      columns={({ column, numberColumn }) => [
        column("Type", (row) => row.group_type),
        column("Key", (row) => (
          <PageLink to={["groups", [row.group_type, row.group_key]]}>
            <Cut text={row.group_key} />
          </PageLink>
        )),
        column("Name", ({ properties }) => <Cut text={String(properties["name"] ?? "")} />),
        numberColumn("First seen", (row) => <Time at={row.created_at} />),
      ]}
    />
  );
}

function OneGroup({ type, group }: { type: string; group: string }) {
  const loaded = useRead(
    async (api, signal) => {
      const types = await api.get<GroupType[]>("groups_types/", {}, signal);
      const index = types.find(({ group_type }) => group_type === type)?.group_type_index;
      if (index === undefined) throw new Error(`There are no groups of the type ${type}.`);
      const key = { group_type_index: index, group_key: group };
      const found = await api.get<GroupRow>("groups/find/", key, signal).catch(whenUnknown);
      return { index, found };
    },
    [type, group],
  );
  const seesEvents = useSeesEvents();
  return (
    <>
      <PageHead title={group} />
      <WhenLoaded loaded={loaded}>
        {({ index, found }) => (
          <div class="cards">
            <Card title={`Properties of the ${type}`}>
              {found ? (
                <>
                  <p class="quiet">First seen {timeText(found.created_at)}.</p>
                  <Properties of={found.properties} />
                </>
              ) : (
                <p class="quiet">No $groupidentify event describes it.</p>
              )}
            </Card>
            {seesEvents && <GroupEvents index={index} group={group} />}
          </div>
        )}
      </WhenLoaded>
    </>
  );
}

/** Undefined for a group that events name, but no $groupidentify event. */
function whenUnknown(thrown: unknown): undefined {
  if (!(thrown instanceof Refusal) || thrown.status !== 404) throw thrown;
}

function GroupEvents({ index, group }: { index: number; group: string }) {
  // The key as a quoted text in SQL.
  const where = `$group_${index} = '${group.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const { loaded, page } = useList<ShownEvent>("events/", 50, { where: JSON.stringify([where]) });
  const all = {
    kind: "TrendsQuery",
    series: [{ kind: "EventsNode", event: null }],
    dateRange: { date_from: "all" },
    properties: [{ type: "hogql", key: where }],
  };
  const of = JSON.stringify({ source: { kind: "InsightActorsQuery", source: all, series: 0 } });
  return (
    <Card title="Events in this group" wide>
      <p>
        <PageLink to={["behind", [], { title: `Everybody in ${group}`, of }]}>
          The persons in this group
        </PageLink>
      </p>
      <Paged loaded={loaded} page={page}>
        {(events) => <EventList events={events} empty="No events." />}
      </Paged>
    </Card>
  );
}

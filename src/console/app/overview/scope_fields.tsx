// What is added to the scope of the overview, filters and a goal, and the buttons that remove it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useOffered, WithNames } from "../filters/property_names.tsx";
import { Form } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Button } from "../ui/parts.tsx";
import { type Site, siteOperators, withValue } from "./site_query.ts";
import { cards } from "./subjects.ts";

const filterSubjects = Object.values(cards)
  .flat()
  .map(({ by, title }) => [by, title] as const);

/** A filter that no row has: what it is not, a part of it, or one value more. */
export function NewFilter({ site, show }: { site: Site; show: (site: Site) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { fields, change, text, choice } = useFields({
    by: "Page",
    operator: siteOperators[1][0],
    value: "",
  });
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Filter</Button>;
  const { by, operator, value } = fields;
  const add = () => {
    show(withValue(site, by, operator, value.trim()));
    change({ value: "" });
  };
  return (
    <div class="whole">
      <Form send={add}>
        {choice("by", "Filter by", filterSubjects)}
        {choice("operator", "Must be", siteOperators)}
        {text("value", "Value", { required: true, placeholder: by === "Country" ? "a code, like DE" : "" })}
        <Button type="submit">Add</Button>
        <Button onClick={() => setOpen(false)}>Close</Button>
      </Form>
    </div>
  );
}

export function Chip({ name, what, remove }: { name: string; what: string; remove: () => void }) {
  return (
    <button type="button" class="tag chip" onClick={remove}>
      {name} <span aria-hidden="true">×</span>
      <span class="visually-hidden">, remove this {what}</span>
    </button>
  );
}

/** Chooses the event that visitors are brought to. */
export function NewGoal({ set }: { set: (event: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { fields, text } = useFields({ event: "" });
  if (!isOpen) return <Button onClick={() => setOpen(true)}>Goal</Button>;
  return (
    <div class="whole">
      <Form send={() => set(fields.event.trim())}>
        <WithNames>
          <EventName
            field={(list) => text("event", "Visitors are brought to this event", { required: true, list })}
          />
        </WithNames>
        <Button type="submit">Count it</Button>
        <Button onClick={() => setOpen(false)}>Close</Button>
      </Form>
    </div>
  );
}

/** Inside WithNames, whose events it offers. */
function EventName({ field }: { field: (list: string) => ComponentChildren }) {
  return <>{field(useOffered().nameList("events"))}</>;
}

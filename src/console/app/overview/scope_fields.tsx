// The fields that add a filter or a goal to the overview, and the buttons that remove them.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useOffered, WithNames } from "../filters/property_names.tsx";
import { Form } from "../ui/forms.tsx";
import { useFields } from "../ui/inputs.tsx";
import { Button } from "../ui/parts.tsx";
import { isFull, type Site, siteOperators, withValue } from "./site_query.ts";
import { cards } from "./subjects.ts";

/** Fields behind a button, in one place: the focus moves to the fields that open, and back to the button. */
function useFold() {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLDivElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) place.current?.querySelector<HTMLElement>("input, select, button")?.focus();
    isFirst.current = false;
  }, [isOpen]);
  return { isOpen, setOpen, place };
}

const filterSubjects = Object.values(cards)
  .flat()
  .map(({ by, title }) => [by, title] as const);

/** A filter that no row has: what it is not, a part of it, or one value more. */
export function NewFilter({ site, show }: { site: Site; show: (site: Site) => void }) {
  const { isOpen, setOpen, place } = useFold();
  const { fields, change, text, choice } = useFields({
    by: "Page",
    operator: siteOperators[1][0],
    value: "",
  });
  const { by, operator, value } = fields;
  const add = () => {
    if (value.trim() !== "") show(withValue(site, by, operator, value.trim()));
    change({ value: "" });
  };
  if (!isOpen)
    return (
      <div ref={place}>
        <Button disabled={isFull(site)} onClick={() => setOpen(true)}>
          Filter
        </Button>
      </div>
    );
  return (
    <div class="whole" ref={place}>
      <Form send={add}>
        {choice("by", "Filter by", filterSubjects)}
        {choice("operator", "Must", siteOperators)}
        {text("value", "Value", { required: true, placeholder: by === "Country" ? "a code, like DE" : "" })}
        <Button type="submit" disabled={isFull(site)}>
          Add
        </Button>
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
  const { isOpen, setOpen, place } = useFold();
  const { fields, text } = useFields({ event: "" });
  if (!isOpen)
    return (
      <div ref={place}>
        <Button onClick={() => setOpen(true)}>Goal</Button>
      </div>
    );
  return (
    <div class="whole" ref={place}>
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

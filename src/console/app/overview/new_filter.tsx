// The field that adds a filter to the overview.

import { useState } from "preact/hooks";
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

// The range and the filters of a dashboard's page: they are in its address, so that a link shows the same.

import { useState } from "preact/hooks";
import { ranges } from "../explore/choices.ts";
import { AddCondition, OwnFilters } from "../filters/condition_fields.tsx";
import { navigate } from "../session/route.ts";
import { useHref } from "../session/session.ts";
import { Button, Form } from "../ui/parts.tsx";
import { RangeField } from "../ui/range_field.tsx";
import { type Scope, scopeAddress } from "./scope.ts";

const options = [["", "Each insight’s own range"], ...ranges] as const;

export function ScopeForm({ dashboard, scope }: { dashboard: number; scope: Scope }) {
  const hrefOf = useHref();
  const [conditions, setConditions] = useState(scope.conditions);
  const show = (next: Scope) => navigate(hrefOf("dashboards", [dashboard], scopeAddress(next)));
  const filters = { conditions, set: setConditions };
  return (
    <Form send={() => show({ ...scope, conditions })}>
      <RangeField
        from={scope.range}
        to={scope.to}
        set={(range, to) => show({ range, to, conditions })}
        options={options}
      />
      <AddCondition {...filters} />
      {(conditions.length > 0 || scope.conditions.length > 0) && <Button type="submit">Show</Button>}
      <OwnFilters {...filters} />
    </Form>
  );
}

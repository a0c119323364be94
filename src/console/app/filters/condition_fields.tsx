// The fields of filters: whose property, which, and what it must be.

import { useId } from "preact/hooks";
import type { ProjectNames } from "../session/project_names.ts";
import { useAllowed, useSession } from "../session/session.ts";
import { useLoaded } from "../session/use_loaded.ts";
import { numberText } from "../ui/format.ts";
import { Button, ChoiceField, TextField } from "../ui/parts.tsx";
import { type Condition, conditionsMax, needsValue, noCondition, operators } from "./conditions.ts";

interface ConditionFieldsProps {
  conditions: readonly Condition[];
  set: (conditions: Condition[]) => void;
  /** Ids of the lists of names, by whose properties they are. */
  lists: Readonly<Record<Condition["type"], string>>;
  names: ProjectNames;
}

export function ConditionFields({ conditions, set, lists, names }: ConditionFieldsProps) {
  const change = (i: number, one: Partial<Condition>) =>
    set(conditions.map((other, j) => (i === j ? { ...other, ...one } : other)));
  return (
    <fieldset class="whole">
      <legend>Only where</legend>
      {conditions.map(({ type, key, operator, value }, i) => {
        const of = conditions.length > 1 ? ` of filter ${i + 1}` : "";
        return (
          <div key={i} class="form series">
            <ChoiceField
              label={`Whose property${of}`}
              value={type}
              set={(next) => change(i, { type: next as Condition["type"] })}
              options={[
                ["event", "The event’s"],
                ["person", "The person’s"],
              ]}
            />
            <TextField
              label={`Filtered property${of}`}
              value={key}
              set={(next) => change(i, { key: next })}
              list={lists[type]}
              required
            />
            <ChoiceField
              label={`Must${of}`}
              value={operator}
              set={(next) => change(i, { operator: next })}
              options={operators}
            />
            {needsValue(operator) && (
              <ValueField
                label={`Value${of}`}
                condition={{ type, key, operator, value }}
                set={(next) => change(i, { value: next })}
                isKnown={names[type].includes(key)}
              />
            )}
            <Button
              aria-label={`Remove filter ${i + 1}`}
              onClick={() => set(conditions.filter((_, j) => j !== i))}
            >
              Remove
            </Button>
          </div>
        );
      })}
      {conditions.length < conditionsMax && (
        <Button onClick={() => set([...conditions, noCondition])}>Add filter</Button>
      )}
    </fieldset>
  );
}

interface ValueProps {
  label: string;
  condition: Condition;
  set: (value: string) => void;
  /** Whether the project has a property of this name: nothing is asked for half a name. */
  isKnown: boolean;
}

/** Offers the most frequent values of its property. */
function ValueField({ label, condition: { type, key, value }, set, isKnown }: ValueProps) {
  const { api, home } = useSession();
  const id = useId();
  const isAllowed = useAllowed(type === "event" ? "query:read" : "person:read") && isKnown;
  const asked = useLoaded(
    async (signal) => {
      if (!isAllowed) return [];
      const path = `${home}/${type}s/values/`;
      return (await api.get<{ results: { name: string; count: number }[] }>(path, { key }, signal)).results;
    },
    [home, type, key, isAllowed],
  );
  return (
    <>
      <TextField label={label} value={value} set={set} list={id} />
      <datalist id={id}>
        {(asked.value ?? []).map(({ name, count }) => (
          <option key={name} value={name} label={numberText(count)} />
        ))}
      </datalist>
    </>
  );
}

// The fields of filters: whose property, its name, and its value.

import { useId } from "preact/hooks";
import { useAllowed, useSeesEvents } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { numberText } from "../ui/format.ts";
import { ChoiceField, TextField } from "../ui/forms.tsx";
import { makeInputs } from "../ui/inputs.tsx";
import { Button } from "../ui/parts.tsx";
import {
  type Condition,
  conditionsMax,
  joins,
  leaveOut,
  needsValue,
  noCondition,
  operators,
  type Owner,
  readGroupIndex,
  takesSeveral,
  toProperties,
  valuesMax,
  withOperator,
} from "./conditions.ts";
import { filtersText } from "./filter_text.ts";
import type { ProjectNames } from "./property_names.tsx";
import { useOffered, WithNames } from "./property_names.tsx";

/** Owners of properties, with each type of groups; `own` is offered even where its type was deleted. */
export function ownerOptions({ groupTypes }: ProjectNames, owner: Owner) {
  const options = [
    ["event", "The event’s"],
    ["person", "The person’s"],
    ["session", "The session’s"],
    ...groupTypes.map((item) => [`group:${item.group_type_index}`, `The ${item.group_type}’s`] as const),
  ] as const;
  return options.some(([value]) => value === owner) ? options : [...options, [owner, "The group’s"] as const];
}

interface ConditionFieldsProps {
  conditions: readonly Condition[];
  set: (conditions: Condition[]) => void;
  /** The event that they filter, as labels end; "" for all. */
  about?: string;
  /** The owner of all their properties, where there is no choice. */
  owner?: Owner;
  /** Whether they may be joined by "or". */
  mayJoin?: boolean;
}

/** Inside WithNames, whose names they offer. */
export function ConditionFields({ conditions, set, about = "", owner, mayJoin }: ConditionFieldsProps) {
  const { names, nameList } = useOffered();
  const change = (i: number, item: Partial<Condition>) =>
    set(conditions.map((condition, j) => (i === j ? { ...condition, ...item } : condition)));
  return (
    <>
      {conditions.map((condition, i) => {
        const { type, key, operator, values } = condition;
        const of = (conditions.length > 1 ? ` of filter ${i + 1}` : "") + about;
        const { text, choice } = makeInputs(condition, (part) => change(i, part));
        return (
          <div key={i} class="form series own-filter">
            {i > 0 && (mayJoin || condition.join) && (
              <ChoiceField
                label={`And, or${of}`}
                value={condition.join ?? ""}
                set={(next) => change(i, { join: (next || undefined) as Condition["join"] })}
                options={joins}
              />
            )}
            {owner === undefined && choice("type", `Whose property${of}`, ownerOptions(names, type))}
            {text("key", `Filtered property${of}`, { list: nameList(type), required: true })}
            <ChoiceField
              label={`Must${of}`}
              value={operator}
              set={(next) => change(i, withOperator(condition, next))}
              options={operators}
            />
            {needsValue(operator) && (
              <ValueFields
                of={of}
                condition={condition}
                set={(next) => change(i, { values: next })}
                isKnown={names.properties[type]?.includes(key) === true}
              />
            )}
            {takesSeveral(operator) && values.length < valuesMax && (
              <Button
                aria-label={`Or another, filter ${i + 1}${about}`}
                onClick={() => change(i, { values: [...values, ""] })}
              >
                Or …
              </Button>
            )}
            <Button
              aria-label={`Remove filter ${i + 1}${about}`}
              onClick={() => set(leaveOut(conditions, (_, j) => j !== i))}
            >
              Remove
            </Button>
          </div>
        );
      })}
      {conditions.some(({ join }) => join) && (
        <p class="quiet own-filter">Read as: {filtersText(toProperties(conditions))}.</p>
      )}
    </>
  );
}

/** The button that adds a filter, which forms put apart from the fields. */
export function AddCondition({ conditions, set, about = "", owner = "event" }: ConditionFieldsProps) {
  if (conditions.length >= conditionsMax) return null;
  return (
    <Button
      aria-label={`Add filter${about}`}
      onClick={() => set([...conditions, { ...noCondition, type: owner }])}
    >
      Add filter
    </Button>
  );
}

/** The filters of a form that has none at first, across its width. */
export function OwnFilters(props: ConditionFieldsProps) {
  if (props.conditions.length === 0) return null;
  return (
    <div class="whole">
      <WithNames>
        <ConditionFields {...props} />
      </WithNames>
    </div>
  );
}

interface ValueProps {
  /** The filter that they belong to, as labels end. */
  of: string;
  condition: Condition;
  set: (values: string[]) => void;
  /** Whether the project has a property of this name: for a part of a name, no values are loaded. */
  isKnown: boolean;
}

interface OfferedValue {
  name: string;
  count?: number;
}

/** The API's path of the values of an owner's property, and the scope that it requires. */
function listValues(owner: Owner) {
  const group_type_index = readGroupIndex(owner);
  if (group_type_index !== undefined)
    return { path: "groups/property_values/", scope: "group:read", query: { group_type_index } };
  return { path: `${owner}s/values/`, scope: owner === "person" ? "person:read" : "query:read", query: {} };
}

/** Offers the most frequent values of its property. One of several is removed by leaving it empty. */
function ValueFields({ of, condition: { type, key, operator, values }, set, isKnown }: ValueProps) {
  const id = useId();
  const { path, scope, query } = listValues(type);
  const seesValues = useAllowed(scope);
  const seesEvents = useSeesEvents();
  const isAllowed = seesValues && isKnown && (scope !== "query:read" || seesEvents);
  const loaded = useRead(
    async (api, signal) => {
      if (!isAllowed) return [];
      type Reply = { results: OfferedValue[] } | OfferedValue[];
      const reply = await api.get<Reply>(path, { ...query, key }, signal);
      return "results" in reply ? reply.results : reply;
    },
    [type, key, isAllowed],
  );
  return (
    <>
      {values.map((value, i) => (
        <TextField
          key={i}
          label={i === 0 ? `Value${of}` : `Or value ${i + 1}${of}`}
          value={value}
          set={(next) => set(values.map((before, j) => (j === i ? next : before)))}
          list={id}
          // Every text contains an empty one, and matches it; equal to it is what has none.
          required={!takesSeveral(operator)}
        />
      ))}
      <datalist id={id}>
        {(loaded.value ?? []).map(({ name, count }) => (
          <option key={name} value={name} {...(count !== undefined && { label: numberText(count) })} />
        ))}
      </datalist>
    </>
  );
}

// The fields of a query's events: which they are, what is counted, and each one's own filters.

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { AddCondition, ConditionFields } from "../../filters/condition_fields.tsx";
import type { Condition } from "../../filters/conditions.ts";
import { useOffered } from "../../filters/property_names.tsx";
import type { ProjectNames } from "../../filters/property_names.tsx";
import { makeInputs } from "../../ui/inputs.tsx";
import { Button } from "../../ui/parts.tsx";
import { type Kind, kinds, maths, needsProperty } from "../choices.ts";
import { anyEvent, type InsightQuery, type Series, shownSeries } from "../query.ts";

interface SeriesFieldsProps {
  query: InsightQuery;
  set: (series: Series[]) => void;
}

export function SeriesFields({ query: { kind, series }, set }: SeriesFieldsProps) {
  const [least, most] = kinds[kind].events;
  const visible = shownSeries(kind, series);
  const { names, nameList } = useOffered();
  const fieldset = useRef<HTMLFieldSetElement>(null);
  const isAdded = useRef(false);
  const add = () => {
    isAdded.current = true;
    set([...visible, anyEvent]);
  };
  useEffect(() => {
    // The name of an added event is typed next; the button that was pressed is in another row by now.
    if (isAdded.current)
      fieldset.current?.querySelector<HTMLInputElement>(".series:last-of-type input")?.focus();
    isAdded.current = false;
  }, [visible.length]);
  return (
    <fieldset class="whole" ref={fieldset}>
      <legend>{kind === "funnel" ? "Steps, in their order" : most > 1 ? "Events" : "Event"}</legend>
      {visible.map((item, i, all) => {
        const label = labelSeries(kind, all.length, i);
        // A single event has the filters of its query.
        const of = all.length > 1 ? ` of event ${i + 1}` : "";
        const change = (part: Partial<Series>) =>
          set(all.map((entry, j) => (j === i ? { ...entry, ...part } : entry)));
        const setConditions = (conditions: Condition[]) => change({ conditions });
        const filters = { conditions: item.conditions, set: setConditions, about: of };
        const { text, choice } = makeInputs(item, change);
        return (
          <Fragment key={i}>
            <div class="form series">
              {text("event", label, { placeholder: "any event", list: nameList("events") })}
              {kind === "trend" && choice("math", `Count${of}`, mathsWith(names))}
              {kind === "trend" &&
                needsProperty(item.math) &&
                text("property", `Property${of}`, { list: nameList("event"), required: true })}
              {of !== "" && <AddCondition {...filters} />}
              {i === all.length - 1 && all.length < most && least < most && (
                <Button onClick={add}>Add {kind === "funnel" ? "step" : "event"}</Button>
              )}
              {all.length > least && (
                <Button aria-label={`Remove ${label}`} onClick={() => set(all.filter((_, j) => j !== i))}>
                  Remove
                </Button>
              )}
            </div>
            <ConditionFields {...filters} />
          </Fragment>
        );
      })}
    </fieldset>
  );
}

function labelSeries(kind: Kind, count: number, i: number): string {
  if (kind === "funnel") return `Step ${i + 1}`;
  if (kind === "retention") return i === 0 ? "Did" : "Came back and did";
  return count > 1 ? `Event ${i + 1}` : "Event";
}

/** Maths, with one for each of the project's types of groups. */
function mathsWith({ groupTypes }: ProjectNames): readonly (readonly [string, string])[] {
  return [
    ...maths,
    ...groupTypes.map(
      ({ group_type, group_type_index: index }) =>
        [`unique_group:${index}`, `Groups: ${group_type}`] as const,
    ),
  ];
}

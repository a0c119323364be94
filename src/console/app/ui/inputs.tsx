// The fields of a form by their names, and their values; a time range, a usual one or from day to day.

import { useLayoutEffect, useState } from "preact/hooks";
import { rangeText } from "./format.ts";
import { CheckField, ChoiceField, type Options, TextField, type TextProps } from "./forms.tsx";

/** Fields by which password managers know what they are. */
export const signInAddress = { type: "email", autocomplete: "username", required: true };
export const passwordNow = { type: "password", autocomplete: "current-password", required: true };
export const passwordNew = { type: "password", autocomplete: "new-password", required: true };

/** Shows fields by their names, each with its label. @param change sets some of them. */
export function makeInputs<Fields extends object>(fields: Fields, change: (part: Partial<Fields>) => void) {
  type Name = keyof Fields & string;
  const makeSetter = (name: Name) => (value: unknown) => change({ [name]: value } as Partial<Fields>);
  const toText = (name: Name) => String(fields[name] ?? "");
  return {
    text: (name: Name, label: string, more: Omit<TextProps, "label" | "value" | "set"> = {}) => (
      <TextField label={label} value={toText(name)} set={makeSetter(name)} {...more} />
    ),
    /** The value of an option is the text of the field's. */
    choice: (name: Name, label: string, options: Options) => {
      const [set, kind] = [makeSetter(name), typeof fields[name]];
      const read = (text: string) =>
        set(kind === "number" ? Number(text) : kind === "boolean" ? text === "true" : text);
      return <ChoiceField label={label} value={toText(name)} set={read} options={options} />;
    },
    check: (name: Name, label: string) => (
      <CheckField label={label} value={fields[name] === true} set={makeSetter(name)} />
    ),
  };
}

export function useFields<Fields extends object>(first: Fields) {
  const [fields, setFields] = useState(first);
  const change = (part: Partial<Fields>) => setFields((before) => ({ ...before, ...part }));
  return { fields, change, ...makeInputs(fields, change) };
}

/** The fields of a form: those of the address, until one is edited, and again when the address changes. */
export function useDraft<Fields extends Readonly<Record<string, string>>>(filter: Fields) {
  const of = JSON.stringify(filter);
  const [draft, setDraft] = useState<{ of: string; fields: Fields }>();
  // Going back to an address shows its fields, not what was written there before. At once: what is written next stays.
  useLayoutEffect(() => setDraft(undefined), [of]);
  const fields = draft?.of === of ? draft.fields : filter;
  const change = (part: Partial<Fields>) => setDraft({ of, fields: { ...fields, ...part } });
  return { fields, change, ...makeInputs(fields, change) };
}

interface RangeProps {
  /** The first day, as the API has it, or a relative time like `-7d`. */
  from: string;
  /** The last day; "" for today. */
  to: string;
  set: (from: string, to: string) => void;
  options: Options;
}

const days = "days";

const isDay = (text: string) => text.length === 10 && !Number.isNaN(Date.parse(text));

export function RangeField({ from, to, set, options }: RangeProps) {
  const [choosing, choose] = useState(false);
  const isOwn = isDay(from) || choosing;
  // A saved query may have any range.
  const ranges = isOwn || options.some(([value]) => value === from) ? [] : [[from, rangeText(from)] as const];
  return (
    <>
      <ChoiceField
        label="Time range"
        value={isOwn ? days : from}
        set={(range) => {
          choose(range === days);
          if (range !== days) set(range, range === "-1dStart" ? "-1dEnd" : "");
        }}
        options={[...options, ...ranges, [days, "From day to day …"]]}
      />
      {isOwn && <Days from={isDay(from) ? from : ""} to={to} set={set} />}
    </>
  );
}

function Days({ from, to, set }: Omit<RangeProps, "options">) {
  // Going back changes the days, too.
  const { fields, change } = useDraft({ from, to });
  const choose = (day: Partial<typeof fields>) => {
    const next = { ...fields, ...day };
    change(day);
    if (next.from && (!next.to || next.from <= next.to)) set(next.from, next.to);
  };
  return (
    <>
      <TextField label="From" type="date" value={fields.from} set={(day) => choose({ from: day })} />
      <TextField label="To" type="date" value={fields.to} set={(day) => choose({ to: day })} />
    </>
  );
}

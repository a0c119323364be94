// The fields of a form by their names, and their values.

import { useLayoutEffect, useState } from "preact/hooks";
import { CheckField, ChoiceField, type Options, TextField, type TextProps } from "./parts.tsx";

/** Fields by which password managers know what they are. */
export const signInAddress = { type: "email", autocomplete: "username", required: true };
export const passwordNow = { type: "password", autocomplete: "current-password", required: true };
export const passwordNew = { type: "password", autocomplete: "new-password", required: true };

/** Shows fields by their names, each with its label. @param change sets some of them. */
export function inputsOf<Fields extends object>(fields: Fields, change: (part: Partial<Fields>) => void) {
  type Name = keyof Fields & string;
  const setterOf = (name: Name) => (value: unknown) => change({ [name]: value } as Partial<Fields>);
  const textOf = (name: Name) => String(fields[name] ?? "");
  return {
    text: (name: Name, label: string, more: Omit<TextProps, "label" | "value" | "set"> = {}) => (
      <TextField label={label} value={textOf(name)} set={setterOf(name)} {...more} />
    ),
    /** The value of an option is the text of the field's. */
    choice: (name: Name, label: string, options: Options) => {
      const [set, kind] = [setterOf(name), typeof fields[name]];
      const read = (text: string) =>
        set(kind === "number" ? Number(text) : kind === "boolean" ? text === "true" : text);
      return <ChoiceField label={label} value={textOf(name)} set={read} options={options} />;
    },
    check: (name: Name, label: string) => (
      <CheckField label={label} value={fields[name] === true} set={setterOf(name)} />
    ),
  };
}

/** The fields of a form, and how to show and change them. */
export function useFields<Fields extends object>(first: Fields) {
  const [fields, setFields] = useState(first);
  const change = (part: Partial<Fields>) => setFields((before) => ({ ...before, ...part }));
  return { fields, change, ...inputsOf(fields, change) };
}

/** The fields of a form: those of the address, until one is edited, and again when the address changes. */
export function useDraft<Fields extends Readonly<Record<string, string>>>(filter: Fields) {
  const of = JSON.stringify(filter);
  const [draft, setDraft] = useState<{ of: string; fields: Fields }>();
  // Going back to an address shows its fields, not what was written there before. At once: what is written next stays.
  useLayoutEffect(() => setDraft(undefined), [of]);
  const fields = draft?.of === of ? draft.fields : filter;
  const change = (part: Partial<Fields>) => setDraft({ of, fields: { ...fields, ...part } });
  return { fields, change, ...inputsOf(fields, change) };
}

// A time range: one of the usual ones, or from day to day.

import { useState } from "preact/hooks";
import { rangeText } from "./format.ts";
import { useDraft } from "./inputs.tsx";
import { ChoiceField, type Options, TextField } from "./parts.tsx";

interface RangeProps {
  /** In the API's form: relative like `-7d`, or a day. */
  from: string;
  /** The last day; "" for today. */
  to: string;
  set: (from: string, to: string) => void;
  options: Options;
}

const days = "days";

/** Whether a text is a day, like 2026-03-01. */
const isDay = (text: string) => text.length === 10 && !Number.isNaN(Date.parse(text));

export function RangeField({ from, to, set, options }: RangeProps) {
  const [choosing, choose] = useState(false);
  const isOwn = isDay(from) || choosing;
  // A saved query may have any range.
  const others = isOwn || options.some(([value]) => value === from) ? [] : [[from, rangeText(from)] as const];
  return (
    <>
      <ChoiceField
        label="Time range"
        value={isOwn ? days : from}
        set={(range) => {
          choose(range === days);
          if (range !== days) set(range, range === "-1dStart" ? "-1dEnd" : "");
        }}
        options={[...options, ...others, [days, "From day to day …"]]}
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

// A time range: one of the usual ones, or from day to day.

import { useEffect, useState } from "preact/hooks";
import { rangeText } from "./format.ts";
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
  const [first, setFirst] = useState(from);
  const [last, setLast] = useState(to);
  // Going back changes the days, too.
  useEffect(() => {
    setFirst(from);
    setLast(to);
  }, [from, to]);
  const change = (one: string, other: string) => {
    setFirst(one);
    setLast(other);
    if (one && (!other || one <= other)) set(one, other);
  };
  return (
    <>
      <TextField label="From" type="date" value={first} set={(day) => change(day, last)} />
      <TextField label="To" type="date" value={last} set={(day) => change(first, day)} />
    </>
  );
}

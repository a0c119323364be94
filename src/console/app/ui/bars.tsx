// Values side by side as horizontal bars, each with its text and its number.

import { type ComponentChildren } from "preact";
import { FigureLink } from "../actors/figure_link.tsx";

export interface Bar {
  label: ComponentChildren;
  value: number;
  text: string;
  colour?: string;
  href?: string | undefined;
}

export function Bars({ caption, bars }: { caption: string; bars: readonly Bar[] }) {
  const most = Math.max(...bars.map(({ value }) => value), 0);
  return (
    <ul class="side-bars" aria-label={caption}>
      {bars.map(({ label, value, text, colour, href }, i) => (
        <li key={i}>
          <div
            class="side-bar"
            style={{
              width: `${most > 0 ? Math.max(0, value / most) * 100 : 0}%`,
              ...(colour && { background: `${colour}33` }),
            }}
          />
          <span class="cut" {...(typeof label === "string" && { title: label })}>
            {label}
          </span>
          <b>
            <FigureLink href={href}>{text}</FigureLink>
          </b>
        </li>
      ))}
    </ul>
  );
}

// The figures of the site, each with its change; one of them is drawn over time.

import type { WebFigure } from "../../../query/result.ts";
import { figureText, untilText } from "../explore/results.ts";
import { useAnswer } from "../session/use_loaded.ts";
import { signedText } from "../ui/format.ts";
import { useWaitText, WhenLoaded } from "../ui/parts.tsx";
import { curves, overviewQuery, type Site } from "./site_query.ts";

const titles: Readonly<Record<string, string>> = {
  visitors: "Visitors",
  views: "Page views",
  sessions: "Sessions",
  "session duration": "Time of a session",
  "bounce rate": "Bounce rate",
};

/** Those of a site with a goal, beside its visitors. */
const goalTitles: Readonly<Record<string, string>> = {
  "total conversions": "Conversions",
  "unique conversions": "Visitors who converted",
  "conversion rate": "Conversion rate",
};

/** @param drawn which figure is drawn over time. */
export function Figures({ site, drawn, draw }: { site: Site; drawn: string; draw: (key: string) => void }) {
  const loaded = useAnswer<{ results: WebFigure[] }>(overviewQuery(site));
  if (loaded.value === undefined && loaded.loading) return <FiguresToCome />;
  return (
    <WhenLoaded loaded={loaded}>
      {({ results }) => <dl class="figures">{results.map((figure) => renderFigure(figure, drawn, draw))}</dl>}
    </WhenLoaded>
  );
}

function renderFigure(figure: WebFigure, drawn: string, draw: (key: string) => void) {
  const { key, kind, value, until, isIncreaseBad } = figure;
  const before = until ? until.value : figure.previous;
  // A day that has not ended is compared with the same part of the day before.
  const change = value !== null && before ? computeChange(value, before, kind) : null;
  return (
    <div key={key} class="figure">
      <dt class="quiet">
        {curves[key] ? (
          <button type="button" aria-pressed={key === drawn} onClick={() => draw(key)}>
            {titles[key]}
          </button>
        ) : (
          (titles[key] ?? goalTitles[key] ?? key)
        )}
      </dt>
      <dd class="big">{figureText(value, kind)}</dd>
      <dd class={`change ${chooseTone(change, isIncreaseBad)}`}>
        {change !== null && signedText(change, kind === "percentage" ? " points" : " %")}{" "}
        <span class="quiet">
          {before === null ? "nothing before" : `before: ${figureText(before, kind)}`}
          {untilText(until)}
        </span>
      </dd>
    </div>
  );
}

/** In per cent; of a percentage in points. */
function computeChange(value: number, before: number, kind: WebFigure["kind"]): number {
  return kind === "percentage"
    ? Math.round(10 * (value - before)) / 10
    : Math.round((100 * (value - before)) / before);
}

/** Keeps the figures' space until they are loaded. */
function FiguresToCome() {
  const text = useWaitText();
  return (
    <dl class="figures" aria-busy="true">
      {Object.entries(titles).map(([key, title]) => (
        <div key={key} class="figure">
          <dt class="quiet">{title}</dt>
          <dd class="big">…</dd>
          <dd class="change quiet">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function chooseTone(change: number | null, isIncreaseBad: boolean | null): string {
  if (change === null || change === 0) return "";
  return change > 0 === (isIncreaseBad === true) ? "worse" : "better";
}

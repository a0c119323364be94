// How many of those who began a funnel came to its end.

import type { ComponentChildren } from "preact";
import { type FunnelStep, toFunnels } from "../../../query/result.ts";
import { useAllowed } from "../session/session.ts";
import { useRead } from "../session/use_loaded.ts";
import { rangeBefore } from "../ui/chart/intervals.ts";
import { numberText, percentText, signedText } from "../ui/format.ts";
import { unwrapQuery } from "../values.ts";

export const findEnds = (steps: readonly FunnelStep[]) => ({
  first: steps[0]?.count ?? 0,
  last: steps.at(-1)?.count ?? 0,
});

interface ConversionProps extends ReturnType<typeof findEnds> {
  /** A line below. @param rate of those who came to the end */
  children?: (rate: number) => ComponentChildren;
}

export function Conversion({ first, last, children }: ConversionProps) {
  return (
    <div class="bold-numbers headline">
      <p>
        <span class="bold-number">{percentText(last, first)}</span>
        <span class="quiet">
          {numberText(last)} of {numberText(first)} came to the last step
        </span>
        {children?.(first === 0 ? 0 : last / first)}
      </p>
    </div>
  );
}

/** Conversion of everybody, whatever their value: those of values that are not shown count, too. */
export function WholeConversion({ query }: { query: unknown }) {
  const mayQuery = useAllowed("query:read");
  const whole = { ...unwrapQuery(query), breakdownFilter: null };
  const loaded = useRead(
    async (api, signal) =>
      mayQuery ? toFunnels((await api.ask<{ results: FunnelStep[] }>(whole, signal)).results)[0] : undefined,
    [JSON.stringify(whole)],
  );
  if (loaded.value) return <Conversion {...findEnds(loaded.value)} />;
  // While it is loaded, the headline has its height.
  return loaded.loading ? (
    <p class="bold-numbers headline bold-number">
      …<br />
    </p>
  ) : null;
}

/** The rate of the time before: two queries, since the API returns the days of a range with its result. */
export function ConversionBefore({ query, rate }: { query: unknown; rate: number }) {
  const mayQuery = useAllowed("query:read");
  const source = unwrapQuery(query);
  const loaded = useRead(
    async (api, signal) => {
      if (!mayQuery) return undefined;
      const range = {
        kind: "TrendsQuery",
        series: [source["series"]].flat().slice(0, 1),
        dateRange: source["dateRange"] ?? null,
        trendsFilter: { display: "BoldNumber" },
      };
      type Resolved = { resolved_date_range: Parameters<typeof rangeBefore>[0] };
      const dateRange = rangeBefore((await api.ask<Resolved>(range, signal)).resolved_date_range);
      if (!dateRange) return undefined;
      const { results } = await api.ask<{ results: FunnelStep[] }>({ ...source, dateRange }, signal);
      return findEnds(toFunnels(results)[0]!);
    },
    [JSON.stringify(source)],
  );
  // While it is loaded, the line has its height.
  if (!loaded.value) return <span class="quiet">{"\u00a0"}</span>;
  const { first, last } = loaded.value;
  if (first === 0) return <span class="quiet">none before</span>;
  const points = Math.round((rate - last / first) * 1000) / 10;
  return (
    <span class="quiet">{`${signedText(points, " points")} (before: ${percentText(last, first)})`}</span>
  );
}

// Math of a funnel's step: only a person's first event of the name is the step, if it passes the step's filters; or the
// first that passes them.

import type { Draft } from "../store.ts";
import type { Step } from "./walk.ts";

export const firstMaths: readonly string[] = ["first_time_for_user", "first_time_for_user_with_filters"];

/** Whether an event is the first one until the end of the span; empty for a step without math. */
export function firstOnly(draft: Draft, { math, event, filters }: Step): string {
  if (!math || !firstMaths.includes(math)) return "";
  const candidate = { event, filters: math === "first_time_for_user" ? [] : filters };
  return ` AND uuid IN (
      SELECT argMin(uuid, (timestamp, uuid)) FROM ${draft.eventTable(candidate.filters, true)}
      WHERE project_id = {project_id:UInt32} AND timestamp < toDateTime64({to:String}, 6, 'UTC')
        AND ${draft.entityCondition(candidate)}
      GROUP BY person_id)`;
}

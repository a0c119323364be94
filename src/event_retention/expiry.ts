// What has expired: whole days (UTC) of events, by project. Computes only.

import { limits } from "../core/limits.ts";
import { retentionLimits } from "./limits.ts";

/** A project that keeps its events for fewer days than the server. */
export interface OwnRetention {
  id: number;
  days: number;
}

/** Rows before a moment, of all projects or of some with moments of their own. Microseconds since 1970. */
export interface Expiry {
  /** Of all these rows the latest may be before it. */
  before: number;
  /** Undefined: all projects. */
  projects: { ids: number[]; before: number[] } | undefined;
}

/** The midnight (UTC) from which on events are kept at `now`, in ms; days that have not passed whole are kept. */
export function keptFrom(now: number, days: number): number {
  return (Math.floor(now / limits.dayMs) - days) * limits.dayMs;
}

/** What expires for everybody. Projects of their own retention keep less, so that they need not be left out. */
export function expiryOfAll(now: number, days: number): Expiry {
  return { before: keptFrom(now, days) * 1000, projects: undefined };
}

/** What expires of projects that keep less; at least one of them. */
export function expiryOfSome(now: number, own: readonly OwnRetention[]): Expiry {
  const before = own.map(({ days }) => keptFrom(now, days) * 1000);
  return { before: Math.max(...before), projects: { ids: own.map(({ id }) => id), before } };
}

/**
 * When the pass before a moment must have ended for the next one to be due: an hour ago, or before the day (UTC) began,
 * since days expire then.
 */
export function passDueSince(now: number): number {
  return Math.max(now - retentionLimits.expiryPassMs, keptFrom(now, 0));
}

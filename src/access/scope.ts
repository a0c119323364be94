// What a personal key allows: scopes, and what each of them covers.

import { Fault } from "../core/fault.ts";

/** The resources a scope can name; each can be read or written. */
const scopeObjects = [
  "action",
  "activity_log",
  "annotation",
  "batch_export",
  "cohort",
  "dashboard",
  "event_definition",
  "export",
  "feature_flag",
  "group",
  "insight",
  "organization",
  "organization_member",
  "person",
  "plugin",
  "project",
  "property_definition",
  "query",
  "session_recording",
  "session_recording_playlist",
  "sharing_configuration",
  "subscription",
  "survey",
  "user",
  "webhook",
] as const;

type ScopeObject = (typeof scopeObjects)[number];
/** `*` covers everything; `x:write` covers `x:read`. */
export type Scope = "*" | `${ScopeObject}:${"read" | "write"}`;

/** Every scope a key may hold, as it is written. */
export const scopes: readonly Scope[] = [
  "*",
  ...scopeObjects.flatMap((object): Scope[] => [`${object}:read`, `${object}:write`]),
];

export function isScope(text: string): text is Scope {
  return (scopes as readonly string[]).includes(text);
}

/** Whether a key with `held` may do what needs `required`. A key without scopes may do nothing. */
export function covers(held: readonly string[], required: Scope): boolean {
  if (held.includes("*") || held.includes(required)) return true;
  return required.endsWith(":read") && held.includes(`${required.slice(0, -":read".length)}:write`);
}

/** @throws Fault permission_denied naming the first of `required` that the `held` scopes do not cover. */
export function requireScopes(held: readonly string[], required: readonly Scope[]): void {
  const missing = required.find((scope) => !covers(held, scope));
  if (missing !== undefined) {
    throw new Fault("permission_denied", `API key missing required scope '${missing}'`);
  }
}

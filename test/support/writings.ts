// The management requests that have a body, and the rules of their bodies.

import type { Rule } from "../../src/http/fields/field_rule.ts";
import { managementRoutes, type RunningApp } from "./app.ts";

export interface Writing {
  method: string;
  path: string;
  schema: Rule;
}

/** Every request with a body, from the API's own description; not its second spelling for environments. */
export function writingsOf(app: RunningApp): Writing[] {
  return managementRoutes(app).flatMap(({ method, path, hooks }) => {
    if (path.startsWith("/api/environments/")) return [];
    const { detail } = hooks as { detail?: { requestBody?: { content: Record<string, { schema: Rule }> } } };
    const schema = detail?.requestBody?.content["application/json"]?.schema;
    return schema ? [{ method, path, schema }] : [];
  });
}

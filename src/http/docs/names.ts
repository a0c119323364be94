// What operations are called: as PostHog's own document calls them, so that a client made of that one finds the same
// names here.

const verbs: Record<string, string> = {
  post: "create",
  put: "update",
  patch: "partial_update",
  delete: "destroy",
};

/** Where PostHog's words are not what the answer looks like, by the last word of the path. */
const reading: Record<string, string> = {
  logs: "retrieve",
  values: "retrieve",
  property_definitions: "retrieve",
  sharing: "list",
};

/** What is done with a project itself; whatever else lies below one is named without it. */
const ofProjects = new Set(["reset_token"]);

/**
 * E.g. `batch_exports_runs_list` of GET /api/projects/{project_id}/batch_exports/{id}/runs/. The other homes of the
 * same come first: `environments_batch_exports_runs_list`.
 * @param isList whether it answers several things.
 */
export function operationIdOf(method: string, path: string, isList: boolean): string {
  const words = path
    .split("/")
    .filter((word) => word !== "" && word !== "api" && !word.startsWith("{"))
    .map((word) => word.replace(/\W/g, ""));
  const last = words.at(-1) ?? "";
  if (words[0] === "projects" && words.length > 1 && !ofProjects.has(words[1]!)) words.shift();
  const verb = method === "get" ? (reading[last] ?? (isList ? "list" : "retrieve")) : verbs[method];
  return [...words, verb ?? method].join("_");
}
